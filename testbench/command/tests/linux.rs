//! Linux as the host of nodes, end to end. These tests need the kernel of guests (`make linux`); without it they say that they are skipped.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use lanigon_worlds::files::own;

/// Whether there is a kernel; otherwise says that a test is skipped, past the test's captured output.
fn has_kernel() -> bool {
    let there = lanigon_workloads::linux::missing().is_none();
    if !there {
        let mut out = std::io::stderr().lock();
        writeln!(
            out,
            "SKIPPED for lack of the kernel of guests (`make linux`)"
        )
        .unwrap();
    }
    there
}

fn lanigon(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .env_remove("LANIGON_DATA");
    command
}

fn scenario(name: &str) -> String {
    let path = own::project()
        .join("scenarios")
        .join(name)
        .with_extension("toml");
    path.to_str().unwrap().to_owned()
}

/// A file of this test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A scenario of one node with Linux that runs a script.
fn single(script: &str) -> String {
    format!(
        "protocol = \"acenic\"\nhost_memory_mb = 64\n[network]\ntopology = \"star\"\nnodes = 1\n\
         [[program]]\nrun = \"linux\"\nnodes = 0\nscript = '''\n{script}'''\n"
    )
}

/// The result of a run as a document; whether its exit code was 0.
fn document(path: &str, options: &[&str]) -> (Value, bool) {
    let Output {
        stdout,
        status,
        stderr,
    } = lanigon(&["run", path, "--json"])
        .args(options)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&stderr).into_owned();
    let document = serde_json::from_slice(&stdout);
    (
        document.unwrap_or_else(|error| panic!("{error}\n{text}")),
        status.success(),
    )
}

/// The lines of a node's console.
fn console(document: &Value, node: usize) -> Vec<String> {
    let programs = document["guests"].as_array().unwrap();
    let guests = programs
        .iter()
        .flat_map(|program| program["guests"].as_array().unwrap());
    let guest = guests
        .into_iter()
        .find(|guest| guest["node"] == node)
        .unwrap();
    let lines = guest["console"].as_array().unwrap().iter();
    lines
        .map(|line| line["text"].as_str().unwrap().to_owned())
        .collect()
}

/// The first word of the only line with this text.
#[track_caller]
fn sum_of(lines: &[String], text: &str) -> String {
    let found: Vec<_> = lines.iter().filter(|line| line.ends_with(text)).collect();
    assert_eq!(found.len(), 1, "{text}: {lines:#?}");
    found[0].split(' ').next().unwrap().to_owned()
}

#[test]
fn tcp_passes_and_a_run_repeats_to_the_bit() {
    if !has_kernel() {
        return;
    }
    let path = scenario("linux-pair");
    let (first, good) = document(&path, &[]);
    assert!(good, "{}", first["problems"]);
    let lines = [console(&first, 0), console(&first, 1)];
    assert_eq!(sum_of(&lines[0], " received"), sum_of(&lines[1], " sent"));
    assert!(
        lines[1]
            .iter()
            .any(|line| line.contains("3 packets received, 0% packet loss"))
    );
    // Registers, frames and consoles are events of the trace, whose hash is in the document.
    let (second, _) = document(&path, &["--threads", "2"]);
    assert_eq!(first, second);
}

#[test]
fn eight_guests_exchange_traffic() {
    if !has_kernel() {
        return;
    }
    let (document, good) = document(&scenario("linux-star"), &[]);
    assert!(good, "{}", document["problems"]);
    let received = console(&document, 0);
    for node in 1..8 {
        let sent = sum_of(&console(&document, node), " sent");
        assert_eq!(sum_of(&received, &format!(" from{node}")), sent);
    }
}

#[test]
fn the_driver_bears_what_users_do_to_it() {
    if !has_kernel() {
        return;
    }
    let (document, good) = document(&scenario("linux-driver"), &[]);
    assert!(good, "{}", document["problems"]);
    let lines = console(&document, 1);
    let results: Vec<_> = lines
        .windows(2)
        .filter(|pair| pair[0].starts_with("== "))
        .collect();
    assert!(results.len() >= 11, "{lines:#?}");
    let losses = lines.iter().filter(|line| line.contains("% packet loss"));
    let lost: Vec<_> = losses.filter(|line| !line.contains(" 0% ")).collect();
    // Only those that were longer than the MTU that was lowered.
    assert_eq!(lost.len(), 1, "{lines:#?}");
    assert!(lost[0].starts_with("40 packets transmitted"), "{lines:#?}");
}

#[test]
fn a_board_that_stalls_stops_the_queue_and_goes_on() {
    if !has_kernel() {
        return;
    }
    let (document, good) = document(&scenario("linux-stall"), &[]);
    assert!(good, "{}", document["problems"]);
    let lines = console(&document, 1);
    let says = |text: &str| lines.iter().position(|line| line.contains(text));
    let watchdog = says("NETDEV WATCHDOG").expect("the watchdog speaks");
    let passed = lines
        .iter()
        .rposition(|line| line.contains(" 0% packet loss"));
    assert!(passed > Some(watchdog), "{lines:#?}");
}

#[test]
fn ethtool_sets_the_link_and_tells_of_it() {
    if !has_kernel() {
        return;
    }
    let (document, good) = document(&scenario("linux-ethtool"), &[]);
    assert!(good, "{}", document["problems"]);
    let lines = console(&document, 0);
    let told = |text: &str| {
        let found = lines.iter().filter(|line| line.contains(text));
        found.map(|line| line.trim()).collect::<Vec<_>>()
    };
    let [up, down] = ["Speed: 1000Mb/s", "Speed: Unknown!"];
    assert_eq!(told("Speed:"), [up, down, up, up]);
    let lost: Vec<_> = told(" packet loss");
    let passed: Vec<_> = lost.iter().map(|line| line.contains(" 0% ")).collect();
    assert_eq!(passed, [true, false, true, true], "{lines:#?}");
}

#[test]
fn a_receive_ring_that_runs_dry_is_filled_again() {
    if !has_kernel() {
        return;
    }
    let (document, good) = document(&scenario("linux-dry"), &[]);
    assert!(good, "{}", document["problems"]);
    let received = console(&document, 0);
    let mut said = received
        .iter()
        .filter_map(|line| line.strip_prefix("received "));
    let said = said.next().and_then(|said| said.split_once(", dropped "));
    let said = <[&str; 2]>::from(said.unwrap());
    let [received, dropped] = said.map(|count| count.parse::<u64>().unwrap());
    assert!((100..10_000).contains(&received), "{received} of 20000");
    assert_eq!(document["drops"]["nic_no_space"], dropped);
    let lines = console(&document, 1);
    let passed = lines.iter().filter(|line| line.contains(" 0% packet loss"));
    assert_eq!(passed.count(), 2, "{lines:#?}");
}

#[test]
fn a_board_that_is_reset_lives_when_its_driver_is_bound_anew() {
    if !has_kernel() {
        return;
    }
    let (document, good) = document(&scenario("linux-reset"), &[]);
    assert!(good, "{}", document["problems"]);
    let lines = console(&document, 1);
    assert!(
        lines.iter().any(|line| line.contains("NETDEV WATCHDOG")),
        "{lines:#?}"
    );
    let losses = lines.iter().filter(|line| line.contains("packet loss"));
    let passed: Vec<_> = losses.map(|line| line.contains(" 0% ")).collect();
    assert_eq!(passed, [true, false, true], "{lines:#?}");
}

/// The profile's times of a host's processor make a transfer longer, and the same each time.
#[test]
fn a_processor_takes_time_where_a_scenario_says_so() {
    if !has_kernel() {
        return;
    }
    let text = std::fs::read_to_string(scenario("linux-pair")).unwrap();
    let busy = text.replace("run = \"linux\"", "run = \"linux\"\nprocessor = true");
    let slow = busy.replace(
        "[network]",
        "[costs]\n\"host.kernel_copy_byte\" = 300\n[network]",
    );
    let run = |name: &str, text: &str| {
        let path = file(name, text);
        let (document, good) = document(path.to_str().unwrap(), &[]);
        assert!(good, "{}", document["problems"]);
        document["simulated_us"].as_f64().unwrap()
    };
    let (without, with, slow) = (
        run("linux-free.toml", &text),
        run("linux-busy.toml", &busy),
        run("linux-slow.toml", &slow),
    );
    // 4 MiB are copied twice at least at each host.
    assert!(
        without < with && with + 1e6 < slow,
        "{without} {with} {slow}"
    );
    assert_eq!(run("linux-busy.toml", &busy), with);
}

/// The longer the boards wait for frames, the longer takes a round trip.
#[test]
fn a_sweep_has_results_of_guests() {
    if !has_kernel() {
        return;
    }
    let ping = "ip addr add 10.0.0.$((NODE + 1))/24 dev eth0\nip link set eth0 up\nsleep 1\n\
                ping -c 4 -i 0.1 10.0.0.$((2 - NODE)) | awk -F/ '/round/ { print \"result ping\", $4 * 1000 }'\nsleep 1\n";
    let text = format!(
        "[[axis]]\nname = \"ticks\"\nkey = \"program[0].options\"\n\
         values = [\"acenic.rx_coal_tick=20\", \"acenic.rx_coal_tick=600\"]\n\
         [measure]\nping = \"guests[0].guests[1].results.ping\"\n\
         [scenario]\nprotocol = \"acenic\"\nhost_memory_mb = 64\nnetwork = {{ topology = \"pair\" }}\n\
         [[scenario.program]]\nrun = \"linux\"\nnodes = \"all\"\nscript = \"\"\"\n{ping}\"\"\"\n"
    );
    let path = file("linux-sweep.toml", &text);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linux-sweep");
    let mut command = lanigon(&["sweep", path.to_str().unwrap(), "--fresh", "--out"]);
    let output = command.arg(&folder).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let results = std::fs::read_to_string(folder.join("results.csv")).unwrap();
    let mut lines = results.lines();
    let column = lines
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "ping");
    let ping = |line: &str| line.split(',').nth(column.unwrap()).unwrap().parse::<f64>();
    let pings: Vec<_> = lines.map(|line| ping(line).unwrap()).collect();
    assert!(pings.len() == 2 && pings[0] + 500.0 < pings[1], "{results}");
}

/// A host with Linux beside others whose programs send frames.
#[test]
fn guests_and_ordinary_programs_share_a_world() {
    if !has_kernel() {
        return;
    }
    let script = "ip addr add 10.0.0.1/24 dev eth0\nip link set eth0 up\nsleep 1\n";
    let text = format!(
        "protocol = \"acenic\"\nhost_memory_mb = 64\n[network]\ntopology = \"star\"\nnodes = 3\n\
         [[program]]\nrun = \"linux\"\nnodes = 0\nscript = '''\n{script}'''\n\
         [[program]]\nrun = \"frames\"\nfrom = 1\nto = 2\nbytes = 200\nframes = 30\ngap_us = 100\n"
    );
    let path = file("linux-mixed.toml", &text);
    let (document, good) = document(path.to_str().unwrap(), &[]);
    assert!(good, "{}", document["problems"]);
    assert_eq!(
        document["messages"]["posted"], 30,
        "{}",
        document["messages"]
    );
    assert_eq!(
        document["messages"]["delivered"], 30,
        "{}",
        document["messages"]
    );
    assert_eq!(document["guests"][0]["guests"][0]["exit_code"], 0);
}

#[test]
fn the_first_ctrl_c_ends_a_command_of_the_console() {
    if !has_kernel() {
        return;
    }
    let mut child = lanigon(&["linux"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let typed = b"ping 10.0.0.2\necho after it\n";
    input.write_all(typed).unwrap();
    drop(input);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(Result::unwrap);
    assert!(lines.any(|line| line.contains("seq=3")));
    let mut kill = Command::new("kill");
    kill.args(["-INT", &child.id().to_string()]);
    assert!(kill.status().unwrap().success());
    assert!(lines.any(|line| line == "after it"));
    assert!(lines.any(|line| line == "lanigon: exit 0"));
    assert!(child.wait().unwrap().success());
}

/// The thesis's ceiling of TCP (emp-074) is compared with a result of the model.
#[test]
fn tcp_is_the_baseline_of_the_thesis() {
    if !has_kernel() {
        return;
    }
    let mut command = lanigon(&["reproduce", "emp", "--figure", "emp-074", "--json"]);
    let command = command.args(["--profile", "tigon2-88mhz"]);
    let output = command.output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &document["rows"][0];
    assert_eq!(row["role"], "predicted", "{row}");
    let measured = row["measured"].as_f64().unwrap();
    assert!((300.0..700.0).contains(&measured), "{row}");
    let points = document["points"].as_array().unwrap();
    let schemes = ["tcp", "tcp, processor without time"];
    for scheme in schemes {
        assert!(points.iter().any(|point| point["scheme"] == scheme));
    }
}

#[test]
fn a_script_that_fails_fails_the_run() {
    if !has_kernel() {
        return;
    }
    let path = file("linux-fails.toml", &single("echo before\nexit 3\n"));
    let (document, good) = document(path.to_str().unwrap(), &[]);
    assert!(!good);
    assert_eq!(
        document["problems"][0],
        "node 0: its script has ended with exit code 3"
    );
    assert!(console(&document, 0).contains(&"before".to_owned()));
}

#[test]
fn a_guest_that_is_killed_ends_the_run_with_its_last_lines() {
    if !has_kernel() {
        return;
    }
    let text = format!("seed = 770003\n{}", single("echo before\nsleep 1000000\n"));
    let path = file("linux-crashes.toml", &text);
    let mut command = lanigon(&["run", path.to_str().unwrap(), "--json"]);
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    let guests = || guests_with("seed=770003");
    // Its first lines come within its first tenths of a second.
    let has_begun = || guests().into_iter().any(|guest| ticks_of(guest) >= 30);
    await_until("the guest begins", has_begun);
    let mut killed = Command::new("kill");
    let killed = killed
        .arg("-KILL")
        .args(guests().iter().map(ToString::to_string));
    killed.status().unwrap();
    let output = child.wait_with_output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let problem = document["problems"][0].as_str().unwrap();
    assert_eq!(
        problem,
        "node 0: its process has ended: signal: 9 (SIGKILL)"
    );
    assert!(!console(&document, 0).is_empty());
}

#[test]
fn a_guest_that_hangs_ends_the_run() {
    if !has_kernel() {
        return;
    }
    let text = single("echo before\nwhile true; do :; done\n");
    let text = text.replace("nodes = 0", "nodes = 0\nsilence_s = 3");
    let path = file("linux-hangs.toml", &text);
    let (document, good) = document(path.to_str().unwrap(), &[]);
    assert!(!good);
    let problem = "node 0: it hangs: for 3 s it has neither waited nor used the board";
    assert_eq!(document["problems"][0], problem);
    assert_eq!(console(&document, 0).last().unwrap(), "before");
}

/// Processes whose command line has this.
fn guests_with(text: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let is_one = String::from_utf8_lossy(&line).contains(text);
        entry.file_name().to_str()?.parse().ok().filter(|_| is_one)
    });
    lines.collect()
}

/// Processor time of a process, in hundredths of a second; 0 if there is none.
fn ticks_of(process: u32) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = line.rsplit(')').next().unwrap_or_default();
    let times = fields.split_whitespace().skip(11).take(2);
    times.filter_map(|time| time.parse::<u64>().ok()).sum()
}

/// Waits until a condition holds.
#[track_caller]
fn await_until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_is_left_of_a_guest_when_lanigon_is_killed() {
    if !has_kernel() {
        return;
    }
    for (seed, signal) in [(770_001, "INT"), (770_002, "KILL")] {
        let text = format!("seed = {seed}\n{}", single("while true; do :; done\n"));
        let path = file(&format!("linux-killed-{signal}.toml"), &text);
        let mut command = lanigon(&["run", path.to_str().unwrap()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mark = format!("seed={seed}");
        let mine = || guests_with(&mark).len();
        await_until("the guest begins", || mine() > 0);
        thread::sleep(Duration::from_secs(3));
        // A guest that computes for ever holds the run up: the second signal ends it at once.
        for _ in 0..2 {
            let mut kill = Command::new("kill");
            kill.arg(format!("-{signal}")).arg(child.id().to_string());
            kill.stderr(Stdio::null()).status().unwrap();
            thread::sleep(Duration::from_millis(300));
        }
        child.wait().unwrap();
        await_until("the guest ends", || mine() == 0);
    }
}

#[test]
fn snapshots_are_refused_with_the_reason() {
    if !has_kernel() {
        return;
    }
    let path = scenario("linux-pair");
    let saved = Path::new(env!("CARGO_TARGET_TMPDIR")).join("linux.snapshot");
    let output = lanigon(&[
        "run",
        &path,
        "--snapshot-at",
        "1000",
        saved.to_str().unwrap(),
    ])
    .output()
    .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no snapshot: a guest's state"), "{error}");
    assert!(!saved.exists());
}

#[test]
fn a_console_runs_lines_while_time_stands() {
    if !has_kernel() {
        return;
    }
    let run = || {
        let mut child = lanigon(&["linux"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = "false\necho status $?\nping -c 1 10.0.0.2\ncut -d. -f1 /proc/uptime\n";
        let mut input = child.stdin.take().unwrap();
        input.write_all(lines.as_bytes()).unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{shown}");
        shown
    };
    let shown = run();
    for text in [
        "# false\n",
        "\nstatus 1\n",
        " 0% packet loss\n",
        "\nlanigon: exit 0\n",
    ] {
        assert!(shown.contains(text), "{text:?}: {shown}");
    }
    assert_eq!(run(), shown);
}

/// A debugger reaches an earlier time by another run of the guests, which is the same.
#[test]
fn a_debugger_steps_forwards_and_back() {
    if !has_kernel() {
        return;
    }
    let path = scenario("linux-pair");
    let mut command = lanigon(&["debug", &path]);
    for line in [
        "break acenic::receive::take_frame",
        "continue",
        "backtrace",
        "expect on_receive",
        "step 3",
        "expect take_frame+0xc",
        "rs 3",
        "expect acenic::receive::take_frame\n",
        "continue",
        "set $t0 1",
    ] {
        command.args(["-e", line]);
    }
    let output = command.output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(shown.matches("stop 1: break").count(), 4, "{shown}{error}");
    assert!(
        error.contains("nothing can be changed by hand"),
        "{shown}{error}"
    );
}

#[test]
fn a_missing_kernel_is_named_with_the_remedy() {
    let text = single("true\n").replace("nodes = 0", "nodes = 0\nkernel = \"no/such/kernel\"");
    let path = file("linux-missing.toml", &text);
    let output = lanigon(&["run", path.to_str().unwrap()]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("no/such/kernel: No such file"), "{error}");
    assert!(error.contains("`make linux`"), "{error}");
    assert!(error.contains("linux-missing.toml:7"), "{error}");
}
