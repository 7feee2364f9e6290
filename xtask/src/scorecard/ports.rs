//! Ports beside libraries: where both have a verdict, it is the same, or `client.toml` has the reason.

use std::path::Path;

use anyhow::Result;

use super::row::{Cell, OF_ALL, Row};
use crate::clients::{Drill, folders, read, short};

/// What differs without a reason, and reasons for what does not differ.
pub fn unexplained(rows: &[Row], root: &Path) -> Result<Vec<String>> {
    let mut unexplained = Vec::new();
    for name in folders(root)? {
        for drill in read(root, &name)?.drills {
            let of = format!("{name}-{}", short(&drill.title));
            let library = rows.iter().find(|row| row.name == of);
            let port = rows.iter().find(|row| row.port_of.as_ref() == Some(&of));
            if let (Some(library), Some(port)) = (library, port) {
                unexplained.extend(between(library, port, &drill));
            }
        }
    }
    Ok(unexplained)
}

fn between(library: &Row, port: &Row, drill: &Drill) -> Vec<String> {
    let compare = |cell: &Cell| {
        let other = port.cell(&cell.id)?;
        let (said, ported) = (cell.decided()?, other.decided()?);
        if OF_ALL
            .iter()
            .any(|[id, one, other]| [*id, one, other] == [&*cell.id, said, ported])
        {
            return None;
        }
        let has_reason = drill.differs.contains_key(&cell.id);
        let told = match (said == ported, has_reason) {
            (false, false) => format!("the library: {said}, the port: {ported}"),
            (true, true) => format!("`differs` has a reason, and both: {said}"),
            _ => return None,
        };
        Some(format!("{} {}: {told}", library.name, cell.id))
    };
    library.cells.iter().filter_map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::super::publish::Published;
    use super::*;

    #[test]
    fn published_ports_do_as_their_libraries_or_there_is_a_reason() {
        // The tests run in the folder of this package.
        let root = Path::new("..");
        let rows = Published::read(root).expect("it is valid").rows;
        let ports = rows.iter().filter(|row| row.port_of.is_some());
        assert!(ports.count() >= 15);
        let unexplained = unexplained(&rows, root).expect("clients are described");
        assert_eq!(unexplained, Vec::<String>::new());
    }
}
