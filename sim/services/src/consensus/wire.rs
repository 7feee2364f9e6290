//! The wire format of calls and answers between members: arrays of words, like all requests.

use bytes::Bytes;

use super::raft::{Answer, AppendRequest, Entry, Member, Request as Call, Verdict, VoteRequest};
use locklab_redis::resp::{command, number};

/// Encodes a call.
pub(super) fn encode_call(call: &Call) -> Bytes {
    let mut words = Vec::new();
    match call {
        Call::Vote(vote) => {
            words.push(b"VOTE".to_vec());
            let numbers = [
                vote.term,
                vote.candidate as u64,
                vote.last_index,
                vote.last_term,
            ];
            words.extend(numbers.map(text));
        }
        Call::Append(append) => {
            words.push(b"APPEND".to_vec());
            let numbers = [
                append.term,
                append.leader as u64,
                append.prev_index,
                append.prev_term,
                append.commit,
            ];
            words.extend(numbers.map(text));
            for entry in &append.entries {
                words.extend([text(entry.term), entry.command.to_vec()]);
            }
        }
    }
    let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
    command(&words)
}

/// Decodes a call.
pub(super) fn decode_call(words: &[Bytes]) -> Option<Call> {
    let (kind, words) = words.split_first()?;
    match (&kind[..], words) {
        (b"VOTE", [term, candidate, last_index, last_term]) => Some(Call::Vote(VoteRequest {
            term: number(term)?,
            candidate: member(candidate)?,
            last_index: number(last_index)?,
            last_term: number(last_term)?,
        })),
        (b"APPEND", [term, leader, prev_index, prev_term, commit, entries @ ..])
            if entries.len().is_multiple_of(2) =>
        {
            let entry = |pair: &[Bytes]| {
                let term = number(&pair[0])?;
                let command = pair[1].clone();
                Some(Entry { term, command })
            };
            Some(Call::Append(AppendRequest {
                term: number(term)?,
                leader: member(leader)?,
                prev_index: number(prev_index)?,
                prev_term: number(prev_term)?,
                commit: number(commit)?,
                entries: entries.chunks_exact(2).map(entry).collect::<Option<_>>()?,
            }))
        }
        _ => None,
    }
}

/// Encodes an answer.
pub(super) fn encode_answer(answer: Answer) -> Bytes {
    let term = text(answer.term);
    match answer.verdict {
        Verdict::Yes => command(&[&term, b"YES"]),
        Verdict::No => command(&[&term, b"NO"]),
        Verdict::TryFrom(index) => command(&[&term, b"FROM", &text(index)]),
    }
}

/// Decodes an answer.
pub(super) fn decode_answer(words: &[Bytes]) -> Option<Answer> {
    let (term, words) = words.split_first()?;
    let verdict = match words {
        [word] if word == "YES" => Verdict::Yes,
        [word] if word == "NO" => Verdict::No,
        [word, index] if word == "FROM" => Verdict::TryFrom(number(index)?),
        _ => return None,
    };
    let term = number(term)?;
    Some(Answer { term, verdict })
}

fn text(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn member(word: &[u8]) -> Option<Member> {
    number(word)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::*;
    use locklab_redis::resp::next_words;

    fn words(bytes: Bytes) -> Vec<Bytes> {
        let words = next_words(&mut BytesMut::from(&bytes[..]));
        words.ok().flatten().expect("a whole request")
    }

    #[test]
    fn calls_and_answers_are_read_as_they_were_written() {
        let vote = VoteRequest {
            term: 4,
            candidate: 2,
            last_index: 9,
            last_term: 3,
        };
        let entry = |term, command: &'static str| Entry {
            term,
            command: command.into(),
        };
        let append = AppendRequest {
            term: 4,
            leader: 1,
            prev_index: 8,
            prev_term: 3,
            commit: 7,
            entries: vec![entry(3, "x\r\n"), entry(4, "")],
        };
        for call in [Call::Vote(vote), Call::Append(append)] {
            assert_eq!(decode_call(&words(encode_call(&call))), Some(call));
        }
        for verdict in [Verdict::Yes, Verdict::No, Verdict::TryFrom(5)] {
            let answer = Answer { term: 4, verdict };
            assert_eq!(decode_answer(&words(encode_answer(answer))), Some(answer));
        }
        assert_eq!(decode_call(&["APPEND".into(), "1".into()]), None);
    }
}
