//! Where a page is played: a folder that holds what the page says is there, its servers, and what
//! its placeholders stand for.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::page::Line;

/// No command of a page lasts longer, also on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(300);

/// A process that ends with its folder, and where its output is.
struct Running {
    child: Child,
    name: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A folder, and what runs in it.
pub struct Stage {
    folder: PathBuf,
    programs: PathBuf,
    count: usize,
    servers: Vec<Running>,
    sites: Vec<Running>,
    /// One for each slot.
    invitations: Vec<String>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.servers.clear();
        self.sites.clear();
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

impl Stage {
    /// An empty one; `programs` is in front of `PATH`.
    pub fn new(folder: PathBuf, programs: &Path) -> std::io::Result<Stage> {
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(folder.join(".said"))?;
        let programs = programs.to_owned();
        Ok(Stage {
            folder,
            programs,
            count: 0,
            servers: Vec::new(),
            sites: Vec::new(),
            invitations: Vec::new(),
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Carries out a command of the page: what stays is left running, what takes part in a
    /// federation runs beside the next that does, and everything else ends with 0.
    pub fn play(&mut self, line: &Line) -> Result<(), String> {
        let text = self.filled(&line.text)?;
        if text.starts_with("sordino join ") {
            let site = self.start(&text)?;
            self.sites.push(site);
            return Ok(());
        }
        self.settle()?;
        if text.starts_with("sordino serve ") || text.starts_with("sordino help-serve ") {
            return self.serve(&text);
        }
        let said = self.finished(&text)?;
        if text.starts_with("sordino invite ") {
            self.remember(&text, &said)?;
        }
        match &line.shown {
            Some(shown) if *shown != said => {
                Err(format!("{text}\nprints\n{said}and the page shows\n{shown}"))
            }
            _ => Ok(()),
        }
    }

    /// Waits for the sites that were started; all of them end with 0.
    pub fn settle(&mut self) -> Result<(), String> {
        for mut site in std::mem::take(&mut self.sites) {
            self.ended(&mut site)?;
        }
        Ok(())
    }

    /// Runs a command to its end: what it prints.
    fn finished(&mut self, text: &str) -> Result<String, String> {
        let mut running = self.start(text)?;
        self.ended(&mut running)?;
        Ok(self.said(&running.name).0)
    }

    fn ended(&self, running: &mut Running) -> Result<(), String> {
        let start = Instant::now();
        let status: Option<ExitStatus> = loop {
            match running
                .child
                .try_wait()
                .map_err(|error| error.to_string())?
            {
                None if start.elapsed() > PATIENCE => break None,
                None => std::thread::sleep(Duration::from_millis(5)),
                over => break over,
            }
        };
        let (out, err) = self.said(&running.name);
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(format!("ends with {status}\n{out}{err}")),
            None => Err(format!("did not end within {PATIENCE:?}\n{out}{err}")),
        }
    }

    /// Starts a command in a shell. What it prints goes to files, because what stays would fill a
    /// pipe.
    fn start(&mut self, text: &str) -> Result<Running, String> {
        self.count += 1;
        let name = self.count.to_string();
        let path = |end: &str| self.folder.join(".said").join(format!("{name}.{end}"));
        let file = |end: &str| File::create(path(end)).map_err(|error| error.to_string());
        let path = std::env::join_paths(std::iter::once(self.programs.clone()).chain(
            std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()),
        ));
        let stays = ["sordino serve ", "sordino help-serve ", "sordino join "]
            .iter()
            .any(|begin| text.starts_with(begin));
        // The shell becomes the program, so that the process which is ended later is the program.
        let script = if stays {
            format!("exec {text}")
        } else {
            text.to_owned()
        };
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(script)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        command.env("PATH", path.map_err(|error| error.to_string())?);
        // Nothing of a page is counted among what this user's data gave.
        command.env("XDG_STATE_HOME", self.folder.join(".state"));
        command.stdout(file("out")?).stderr(file("err")?);
        let child = command.spawn().map_err(|error| format!("sh: {error}"))?;
        Ok(Running { child, name })
    }

    /// All that commands have printed so far.
    fn printed(&self) -> String {
        (1..=self.count)
            .map(|number| self.said(&number.to_string()))
            .map(|(out, err)| out + &err)
            .collect()
    }

    fn said(&self, name: &str) -> (String, String) {
        let read = |end: &str| {
            std::fs::read_to_string(self.folder.join(format!(".said/{name}.{end}")))
                .unwrap_or_default()
        };
        (read("out"), read("err"))
    }

    /// Starts a server at a free port of this machine and waits until its folder is begun.
    fn serve(&mut self, text: &str) -> Result<(), String> {
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
        let address = port.map_err(|error| error.to_string())?;
        let mut words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        for option in ["--listen", "--address"] {
            if let Some(at) = words.iter().position(|word| *word == option) {
                words.drain(at..=at + 1);
            }
        }
        let folder = match words.iter().position(|word| *word == "--folder") {
            Some(at) => words.get(at + 1),
            None => words.get(2),
        };
        let folder = self.folder.join(folder.ok_or("a server without a folder")?);
        let begun = if words[1] == "serve" {
            "round.bin"
        } else {
            "url"
        };
        let mut server = self.start(&format!("{} --listen {address}", words.join(" ")))?;
        let start = Instant::now();
        while !folder.join(begun).is_file() {
            let is_over = server
                .child
                .try_wait()
                .map_err(|error| error.to_string())?
                .is_some();
            if is_over || start.elapsed() > PATIENCE {
                return Err(format!(
                    "the server did not begin\n{}",
                    self.said(&server.name).1
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.servers.push(server);
        Ok(())
    }

    /// Keeps the invitations that a command printed or wrote.
    fn remember(&mut self, text: &str, said: &str) -> Result<(), String> {
        let words: Vec<&str> = text.split(' ').collect();
        self.invitations = match words.iter().position(|word| *word == "--out") {
            None => said.lines().map(str::to_owned).collect(),
            Some(at) => {
                let folder = self
                    .folder
                    .join(words.get(at + 1).ok_or("--out without a folder")?);
                let read =
                    |slot: usize| std::fs::read_to_string(folder.join(format!("{slot}.txt"))).ok();
                (0..)
                    .map_while(read)
                    .map(|line| line.trim().to_owned())
                    .collect()
            }
        };
        match self.invitations.is_empty() {
            true => Err("no invitations".to_owned()),
            false => Ok(()),
        }
    }

    /// A command with what its placeholders stand for here. `…` is what depends on the reader.
    fn filled(&self, text: &str) -> Result<String, String> {
        let mut text = text
            .replace("'sordino://127.0.0.1:8443/…'", "'INVITATION'")
            .replace(" …", "");
        let first = self.invitations.first();
        if let Some(first) = first {
            text = text.replace("INVITATION", first);
        }
        for file in text.split(' ').filter_map(|word| word.strip_prefix('@')) {
            let slot = file
                .split(|letter: char| !letter.is_ascii_digit())
                .find(|digits| !digits.is_empty());
            let slot: usize = slot
                .map_or(Ok(0), str::parse)
                .map_err(|_| format!("{file}: no slot"))?;
            let path = self.folder.join(file);
            if let (false, Some(line)) = (path.exists(), self.invitations.get(slot)) {
                // The page's reader put the line there.
                path.parent()
                    .map_or(Ok(()), std::fs::create_dir_all)
                    .map_err(|error| error.to_string())?;
                std::fs::write(&path, line).map_err(|error| error.to_string())?;
            }
        }
        self.names(text)
    }

    /// RUN, PIN, KEY and addresses, from what the servers of the page have told so far.
    fn names(&self, text: String) -> Result<String, String> {
        let invitation = || {
            self.invitations
                .first()
                .ok_or("a placeholder before the first invitation")
        };
        let mut text = text;
        if text.contains("https://wards.example:8443/v1/RUN/prior.safetensors#KEY") {
            let told = self.printed();
            let address = told
                .split_whitespace()
                .find(|word| word.contains("/prior.safetensors#"));
            let address = address
                .ok_or_else(|| format!("the server names no address of its file:\n{told}"))?;
            text = text.replace(
                "https://wards.example:8443/v1/RUN/prior.safetensors#KEY",
                address,
            );
        }
        if text.contains("RUN") {
            text = text.replace("RUN", field(invitation()?, "run")?);
        }
        if text.contains("PIN") {
            text = text.replace("PIN", field(invitation()?, "pin")?);
        }
        // Both are what the owner of a key tells; here, what the program that made it printed.
        for (command, before) in [
            ("--helper-key KEY", "agents are told the key "),
            ("--key KEY", "signed by"),
        ] {
            if text.contains(command) {
                let said = self.printed();
                let key = said
                    .split(before)
                    .nth(1)
                    .and_then(|rest| rest.split_whitespace().next());
                let key = key
                    .ok_or_else(|| format!("nothing printed says {before:?}"))?
                    .trim_end_matches([',', ';']);
                text = text.replace(command, &command.replace("KEY", key));
            }
        }
        Ok(text)
    }
}

/// The run of an invitation, or the first of its keys.
fn field<'a>(invitation: &'a str, name: &str) -> Result<&'a str, String> {
    let found = match name {
        "run" => invitation.split('/').nth(3),
        _ => invitation
            .split(['?', '&'])
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')),
    };
    found.ok_or_else(|| format!("an invitation without {name}"))
}
