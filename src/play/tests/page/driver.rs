//! A headless Chromium, driven through ChromeDriver on the loopback interface.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// No window is that narrow; a phone is.
const PHONE: u32 = 500;
/// The longest that a script may take, in milliseconds: many times as long as on a busy machine.
pub const MOST_MS: u32 = 600_000;

/// A window of a browser.
pub trait Window {
    /// Opens an address.
    fn open(&self, url: &str);

    /// The value of the body of an asynchronous function in the page.
    fn run(&self, script: &str) -> Value;
}

/// A script that runs the body of an asynchronous function, and calls `done` with its value or its error.
pub fn body(script: &str, done: &str) -> String {
    format!(
        "{{ const done = {done};
         const until = async (is) => {{ while (!is()) await new Promise((next) => setTimeout(next, 20)); }};
         (async () => {{ {script} }})().then((value) => done({{ value: value ?? null }}), (error) => done({{ error: String(error.stack) }})); }}"
    )
}

/// A browser with one window. It ends with this value.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// A window of so many pixels; `None` without a browser.
    pub fn of_size(width: u32, height: u32) -> Option<Browser> {
        let mut driver = Command::new("chromedriver");
        driver
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let Ok(mut driver) = driver.spawn() else {
            eprintln!(
                "SKIPPED: there is no ChromeDriver on this machine, so the page was not driven"
            );
            return None;
        };
        let said = driver.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(said).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let mut browser = Browser {
            driver,
            port: port.expect("it says its port"),
            session: String::new(),
        };
        let size = format!("--window-size={width},{height}");
        let mut chrome = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--force-prefers-reduced-motion", size,
        ] });
        if width < PHONE {
            let metrics = json!({ "width": width, "height": height, "pixelRatio": 2.0 });
            chrome["mobileEmulation"] = json!({ "deviceMetrics": metrics });
        }
        let options = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": chrome,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "timeouts": { "script": MOST_MS },
        } } });
        let begun = browser.ask("POST", "/session", &options);
        let id = begun["sessionId"].as_str().expect("a session");
        browser.session = format!("/session/{id}");
        Some(browser)
    }

    /// What the console says, and the addresses of requests over the network.
    pub fn complaints(&self) -> Vec<String> {
        let log = |kind: &str| {
            let said = self.of_session("POST", "/se/log", &json!({ "type": kind }));
            said.as_array().cloned().unwrap_or_default()
        };
        let console = log("browser")
            .into_iter()
            .map(|line| line["message"].to_string());
        let traffic = log("performance").into_iter().filter_map(|line| {
            let event: Value = serde_json::from_str(line["message"].as_str()?).ok()?;
            let url = event["message"]["params"]["request"]["url"].as_str()?;
            let is_own = ["file:", "blob:", "data:", "about:"]
                .iter()
                .any(|own| url.starts_with(own));
            (!is_own).then(|| format!("a request to {url}"))
        });
        console.chain(traffic).collect()
    }

    /// A picture of the window, if `LOCKLAB_PICTURES` names a folder for it.
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("LOCKLAB_PICTURES") else {
            return;
        };
        let said = self.of_session("GET", "/screenshot", &Value::Null);
        let path = std::path::Path::new(&folder).join(format!("{name}.png.base64"));
        std::fs::write(path, said.as_str().unwrap_or_default()).expect("the folder can be written");
    }

    fn of_session(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, &format!("{}{path}", self.session), body)
    }

    /// One request of WebDriver, and the value of its answer.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream =
            TcpStream::connect(("127.0.0.1", self.port)).expect("ChromeDriver listens");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        stream.write_all(body.as_bytes()).expect("it reads");
        // It keeps the connection open: its answer ends after as many bytes as it says.
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).expect("it answers");
            if let Some(bytes) = line.to_lowercase().strip_prefix("content-length:") {
                length = bytes.trim().parse().expect("a number");
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body).expect("it answers");
        let answer: Value = serde_json::from_slice(&body).expect("JSON");
        let value = answer["value"].clone();
        assert!(value["error"].is_null(), "{method} {path}: {value}");
        value
    }
}

impl Window for Browser {
    fn open(&self, url: &str) {
        self.of_session("POST", "/url", &json!({ "url": url }));
    }

    fn run(&self, script: &str) -> Value {
        let script = body(script, "arguments[arguments.length - 1]");
        let said = self.of_session(
            "POST",
            "/execute/async",
            &json!({ "script": script, "args": [] }),
        );
        assert!(said["error"].is_null(), "{}", said["error"]);
        said["value"].clone()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Without a session there is nothing to end. Chromium outlives its driver otherwise, also where a test fails.
        if !self.session.is_empty() {
            let end = AssertUnwindSafe(|| self.of_session("DELETE", "", &Value::Null));
            let _ = catch_unwind(end);
        }
        // What is lost here does no harm to a test.
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
