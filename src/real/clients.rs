//! What the clients of a run are.

/// What the clients of a run are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Clients {
    /// Locklab's own processes, with the lock of the scenario.
    #[default]
    Own,
    /// A program of somebody else, which has a lock of its own; a copy for each client.
    Foreign(Program),
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program; a name without `/` is searched for on the `PATH`.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The key of its lock, if the user names it: a program that tells nothing is judged by it.
    pub key: Option<String>,
}

impl Program {
    /// The words of its command line.
    pub fn words(&self) -> Vec<String> {
        let name = std::slice::from_ref(&self.name);
        name.iter().chain(&self.arguments).cloned().collect()
    }
}

impl Clients {
    /// The command line of a foreign program; none for Locklab's own clients.
    pub fn words(&self) -> Vec<String> {
        match self {
            Clients::Own => vec![],
            Clients::Foreign(program) => program.words(),
        }
    }

    /// The key of the lock of a foreign program, if the user names it.
    pub fn key(&self) -> Option<&str> {
        match self {
            Clients::Own => None,
            Clients::Foreign(program) => program.key.as_deref(),
        }
    }
}
