//! Pages in a browser without a window: reports, flame graphs.

mod flame;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tools::is_installed;

/// Longest time of one start of the browser.
const LIMIT: Duration = Duration::from_secs(120);
/// Element that holds the results of a script.
const RESULT: &str = "result-of-the-test";

/// Whether there is a browser; says so if not.
fn is_there() -> bool {
    is_installed("chromium", "pages in a browser")
}

/// An empty folder of a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Opens a copy of a page in the browser and runs a script in it, which calls `say` with each result. `end` is the page's last tag, before
/// which the script is added.
fn run(page: &Path, end: &str, script: &str) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let (before, after) = text.rsplit_once(end).expect("the page's last tag");
    // Errors of the page's own script are results too. The DOM is written when the page has been loaded.
    let script = format!(
        "<script>//<![CDATA[\n\
         const toldByTest = [];\n\
         const say = (what) => toldByTest.push(String(what).replace(/\\s+/g, ' '));\n\
         try {{\n{script}\n}} catch (error) {{ say('error: ' + error); }}\n\
         document.documentElement.setAttribute('data-{RESULT}', JSON.stringify(toldByTest));\n\
         //]]></script>\n"
    );
    let copy = page.with_file_name(format!(
        "copy-of-{}",
        page.file_name().unwrap().to_str().unwrap()
    ));
    fs::write(&copy, format!("{before}{script}{end}{after}")).unwrap();
    let dom = dump(&copy);
    let mark = format!("data-{RESULT}=\"");
    let (_, rest) = dom
        .split_once(&mark)
        .unwrap_or_else(|| panic!("the script did not run: {dom:.2000}"));
    let said = rest.split('"').next().unwrap();
    let said = said
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    serde_json::from_str(&said).unwrap()
}

/// The DOM of a page after it has been loaded.
fn dump(page: &Path) -> String {
    let data = page.with_extension("browser");
    let out = page.with_extension("dom");
    let mut browser = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--no-first-run",
            // Nothing outside of the page's file exists.
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--window-size=1200,900",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", data.display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while browser.try_wait().unwrap().is_none() {
        if start.elapsed() > LIMIT {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("the browser did not finish {}", page.display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let dom = fs::read_to_string(out).unwrap();
    let _ = fs::remove_dir_all(data);
    dom
}
