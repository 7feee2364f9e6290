//! A headless Firefox, driven by its own protocol, Marionette: messages in JSON over TCP, each with its length before it.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::driver::{MOST_MS, Window, body};

/// A browser with one window. It ends with this value.
pub struct Firefox {
    process: Child,
    profile: PathBuf,
    stream: RefCell<BufReader<TcpStream>>,
}

impl Firefox {
    /// `None` without a browser.
    pub fn start() -> Option<Firefox> {
        let profile = std::env::temp_dir().join(format!("locklab-firefox-{}", std::process::id()));
        fs::create_dir_all(&profile).expect("a folder for its profile");
        let prefs = "user_pref(\"marionette.port\", 0);\n";
        fs::write(profile.join("user.js"), prefs).expect("its profile can be written");
        let spawn = |name: &str| {
            let mut command = Command::new(name);
            command.args(["--headless", "--marionette", "--no-remote", "--profile"]);
            command
                .arg(&profile)
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            command.spawn().ok()
        };
        let Some(mut process) = ["firefox-esr", "firefox"].into_iter().find_map(spawn) else {
            fs::remove_dir_all(&profile).expect("its profile can be removed");
            eprintln!("SKIPPED: there is no Firefox on this machine, so the page was not driven");
            return None;
        };
        let said = process.stdout.take().expect("it is piped");
        let port = BufReader::new(said).lines().find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("Listening on port ")?;
            port.trim().parse().ok()
        });
        let address = ("127.0.0.1", port.expect("it says its port"));
        let stream = TcpStream::connect(address).expect("Firefox listens");
        let firefox = Firefox {
            process,
            profile,
            stream: RefCell::new(BufReader::new(stream)),
        };
        let greeting = firefox.read();
        assert_eq!(greeting["marionetteProtocol"], 3, "{greeting}");
        firefox.ask("WebDriver:NewSession", &json!({}));
        firefox.ask("WebDriver:SetTimeouts", &json!({ "script": MOST_MS }));
        Some(firefox)
    }

    /// One command, and its result.
    fn ask(&self, name: &str, parameters: &Value) -> Value {
        let message = json!([0, 0, name, parameters]).to_string();
        let message = format!("{}:{message}", message.len());
        let written = self
            .stream
            .borrow_mut()
            .get_mut()
            .write_all(message.as_bytes());
        written.expect("Firefox reads");
        let answer = self.read();
        assert!(answer[2].is_null(), "{name}: {}", answer[2]);
        answer[3].clone()
    }

    fn read(&self) -> Value {
        let mut stream = self.stream.borrow_mut();
        let mut length = Vec::new();
        stream.read_until(b':', &mut length).expect("it answers");
        let length = String::from_utf8_lossy(&length);
        let length = length.trim_end_matches(':').parse().expect("a length");
        let mut message = vec![0; length];
        stream.read_exact(&mut message).expect("it answers");
        serde_json::from_slice(&message).expect("JSON")
    }
}

impl Window for Firefox {
    fn open(&self, url: &str) {
        self.ask("WebDriver:Navigate", &json!({ "url": url }));
    }

    /// What Marionette runs does not see what the page's scripts declare, so the page itself runs it.
    fn run(&self, script: &str) -> Value {
        let script = body(
            script,
            "(said) => document.dispatchEvent(new CustomEvent('said', { detail: JSON.stringify(said) }))",
        );
        let outer = "document.addEventListener('said', ({ detail }) => arguments[1](detail), { once: true });
             const script = document.createElement('script');
             script.textContent = arguments[0];
             document.head.append(script);";
        let said = self.ask(
            "WebDriver:ExecuteAsyncScript",
            &json!({ "script": outer, "args": [script] }),
        );
        let said = said["value"].as_str().expect("text");
        let said: Value = serde_json::from_str(said).expect("JSON");
        assert!(said["error"].is_null(), "{}", said["error"]);
        said["value"].clone()
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ask("Marionette:Quit", &json!({ "flags": ["eForceQuit"] }));
        }
        // What is lost here does no harm to a test.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.profile);
    }
}
