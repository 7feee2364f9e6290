
# Bash ends a word at `=`: what it has cut is one word again, as in `--set lock.name=redlock`. The replies are what follows
# the last `=`.
_locklab() {
    local cut=("${COMP_WORDS[@]}") at=$COMP_CWORD
    local COMP_WORDS=() COMP_CWORD=0 i
    for i in "${!cut[@]}"; do
        if [[ $i -gt 1 && (${cut[i]} == = || ${cut[i - 1]} == =) ]]; then
            COMP_WORDS[${#COMP_WORDS[@]} - 1]+=${cut[i]}
        else
            COMP_WORDS+=("${cut[i]}")
        fi
        [[ $i -ne $at ]] || COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    done
    local word=${COMP_WORDS[COMP_CWORD]}
    _clap_complete_locklab "$1" "$word" "$3"
    [[ $word != *=* ]] || COMPREPLY=("${COMPREPLY[@]#"${word%=*}="}")
}
complete -o nospace -o bashdefault -F _locklab locklab
