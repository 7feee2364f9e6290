//! What stands in the place of an operator, and which values a type has.

/// What stands in the place of an operator.
pub fn others(operator: &str) -> &'static [&'static str] {
    match operator {
        "==" => &["!="],
        "!=" => &["=="],
        "<" => &["<=", ">"],
        ">" => &[">=", "<"],
        "<=" => &["<", ">"],
        ">=" => &[">", "<"],
        "&&" => &["||"],
        "||" => &["&&"],
        "+" => &["-"],
        "-" => &["+"],
        "*" => &["+"],
        "/" => &["*"],
        "%" => &["/"],
        "+=" => &["-="],
        "-=" => &["+="],
        _ => &[],
    }
}

/// Values of a type, by its name.
pub fn values(of: &str) -> Vec<String> {
    let one = |value: &str| vec![value.to_owned()];
    let inner = |name: &str| {
        let rest = of.strip_prefix(name)?.strip_suffix('>')?;
        Some(first_argument(rest))
    };
    if let Some(of) = inner("Result<").or_else(|| inner("io::Result<")) {
        return values(of)
            .iter()
            .map(|value| format!("Ok({value})"))
            .collect();
    }
    if let Some(of) = inner("Option<") {
        let some = values(of).into_iter().map(|value| format!("Some({value})"));
        return [one("None"), some.collect()].concat();
    }
    match of {
        "()" => one("()"),
        "!" => Vec::new(),
        "bool" => vec!["true".into(), "false".into()],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => vec!["0".into(), "1".into()],
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => vec!["0".into(), "1".into()],
        "f64" | "f32" => vec!["0.0".into(), "1.0".into()],
        "fmt::Result" => one("Ok(())"),
        "&str" | "&'static str" => vec!["\"\"".into(), "\"xyzzy\"".into()],
        "String" => vec!["String::new()".into(), "\"xyzzy\".into()".into()],
        _ if of.starts_with("impl ") || of.starts_with('&') => Vec::new(),
        _ => one("Default::default()"),
    }
}

/// The first of a list of types.
fn first_argument(list: &str) -> &str {
    let mut depth = 0;
    for (at, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => return &list[..at],
            _ => {}
        }
    }
    list
}
