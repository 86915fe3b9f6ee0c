// The page: a form and a scenario's text that follow each other, a run in a worker, curves while it runs.

import { coloursOf, draw, grey } from "./plot.js";
import { formatOf, fromParameters, pack, toToml, unpack } from "./scenario.js";

const $ = (id) => document.getElementById(id);
/** The largest trace that is taken, in bytes. */
const LARGEST_TRACE = 50e6;
/** How long after a change the scenario is checked, in milliseconds. */
const REST_MS = 250;

let form = {
  one: { kind: "scream", profile: "" },
  other: { kind: "gcc", profile: "libwebrtc" },
  together: false,
  fps: 30,
  max_mbps: 8,
  ecn: "",
  mbps: 5,
  pattern: "dip",
  trace: "",
  format: "mbps",
  delay_ms: 25,
  queue: "droptail",
  limit_ms: 300,
  loss: 0,
  noise: "none",
  duration: 60,
  seed: 1,
};
let controllers = new Map();
let files = {};
/** What is drawn: names of flows with their controllers, the samples so far. */
let shown = { flows: [], links: {}, of: {}, duration: form.duration };

// The worker.

let worker;
const waiting = new Map();
let asked = 0;

function startWorker() {
  worker = new Worker(new URL("worker.js", import.meta.url));
  worker.onerror = (event) => complain(event.message || "the simulator cannot be loaded");
  worker.onmessage = ({ data }) => waiting.get(data.id)?.(data);
}

/** Asks the simulator; resolves with its answer, rejects with its message. */
function ask(question) {
  const id = ++asked;
  return new Promise((resolve, reject) => {
    waiting.set(id, ({ answer, error }) => {
      waiting.delete(id);
      error ? reject(error) : resolve(answer);
    });
    worker.postMessage({ id, ...question });
  });
}

function complain(text) {
  $("message").textContent = text;
  $("message").hidden = !text;
}

// The form.

function option(value, text = value, title = "") {
  return Object.assign(document.createElement("option"), { value, textContent: text, title });
}

function fillChoices({ controllers: known, queues }) {
  controllers = new Map(known.map((one) => [one.kind, one]));
  const named = known.filter(({ kind }) => kind !== "none").map(({ kind, help }) => option(kind, kind, help));
  $("form").one.replaceChildren(...named);
  $("form").other.replaceChildren(option("", "nobody"), ...named.map((one) => one.cloneNode(true)));
  $("form").queue.replaceChildren(...queues.map(({ kind, help }) => option(kind, kind, help)));
}

function fillProfiles(name, { kind, profile }) {
  const known = controllers.get(kind)?.profiles ?? [];
  const select = $("form")[`${name}_profile`];
  select.replaceChildren(...known.map((one) => option(one.name, one.name, one.help)));
  select.value = known.some((one) => one.name === profile) ? profile : (known[0]?.name ?? "");
  select.disabled = known.length < 2;
}

function showForm() {
  const fields = $("form");
  for (const [name, value] of Object.entries(form)) {
    if (name === "one" || name === "other") {
      fields[name].value = value.kind;
      fillProfiles(name, value);
    } else if (fields[name]?.type === "checkbox") {
      fields[name].checked = value;
    } else if (fields[name]) {
      fields[name].value = value;
    }
  }
}

function readForm() {
  const fields = $("form");
  const read = (name, old) => {
    const field = fields[name];
    if (!field) return old;
    if (field.type === "checkbox") return field.checked;
    if (field.type !== "number") return field.value;
    const value = Number(field.value);
    return field.value === "" || !Number.isFinite(value) ? old : Math.min(Math.max(value, Number(field.min || 0)), Number(field.max || 2 ** 53));
  };
  const chosen = (name) => {
    const kind = fields[name].value;
    return { kind, profile: kind === form[name].kind ? fields[`${name}_profile`].value : "" };
  };
  const rest = Object.entries(form).filter(([name]) => name !== "one" && name !== "other");
  form = { ...Object.fromEntries(rest.map(([name, old]) => [name, read(name, old)])), one: chosen("one"), other: chosen("other") };
}

/** The form changed: the text follows. */
function formChanged() {
  readForm();
  if (form.pattern === "trace" && !form.trace) {
    complain("The link follows a trace: drop a file on the page, or choose one.");
    form.pattern = "constant";
  } else complain("");
  showForm();
  $("toml").value = toToml(form, controllers);
  checkText();
}

// The text.

let resting;
function textChanged() {
  clearTimeout(resting);
  resting = setTimeout(async () => {
    const read = await checkText();
    if (read) {
      form = fromParameters(read.parameters, form);
      showForm();
    }
  }, REST_MS);
}

/** Checks the text; answers its values, or nothing if it is wrong. */
async function checkText() {
  try {
    const read = await ask({ ask: "read", scenario: $("toml").value, files });
    $("wrong").textContent = "";
    return read;
  } catch (error) {
    $("wrong").textContent = error.message;
    return undefined;
  }
}

// A trace.

async function takeFile(file) {
  if (!file) return;
  if (file.size > LARGEST_TRACE) {
    complain(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB, more than the ${LARGEST_TRACE / 1e6} MB that a page should hold: "paceline run" takes it.`);
    return;
  }
  const isPacked = file.name.endsWith(".gz");
  const stream = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  let text;
  try {
    text = await textOf(stream);
  } catch (error) {
    complain(`${file.name} cannot be read: ${error.message}`);
    return;
  }
  const name = file.name.replace(/\.gz$/, "").replace(/[^\w.-]/g, "_");
  files = { [name]: text };
  form = { ...form, pattern: "trace", trace: name, format: formatOf(name, text) };
  showForm();
  formChanged();
}

/** The text of a stream, if it is no longer than a trace may be. */
async function textOf(stream) {
  const [reader, decoder] = [stream.getReader(), new TextDecoder("utf-8", { fatal: true })];
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > LARGEST_TRACE) throw new Error(`it unpacks to more than ${LARGEST_TRACE / 1e6} MB`);
  }
}

// A run.

function run() {
  const id = ++asked;
  complain("");
  $("stop").disabled = false;
  waiting.set(id, (said) => heard(id, said));
  worker.postMessage({ id, ask: "run", scenario: $("toml").value, files });
  remember();
}

function heard(id, { begun, state, rows, finished, stopped, error }) {
  if (begun) {
    shown = { flows: begun.flows, links: {}, of: {}, duration: begun.duration_s };
    legend();
    $("figures").tBodies[0].replaceChildren();
    if (begun.warnings.length) complain(begun.warnings.join("\n"));
  }
  if (rows) {
    gather(shown.of, rows.flows);
    gather(shown.links, rows.links);
    paint();
    const speed = state.packets / state.simulating_ms / 1e3;
    $("status").textContent = `${(state.progress * 100).toFixed(0)} %, ${speed.toFixed(2)} million packets a second`;
  }
  if (finished) {
    const packets = finished.summary.packets;
    $("status").textContent = `done: ${packets.toLocaleString("en")} packets in ${(finished.simulating_ms / 1e3).toFixed(2)} s, ${(packets / finished.simulating_ms / 1e3).toFixed(2)} million a second`;
    if (finished.warnings.length) complain(finished.warnings.join("\n"));
    figures(finished.summary);
    window.paceline = { summary: finished.summary, simulating_ms: finished.simulating_ms };
  }
  if (error) {
    $("wrong").textContent = error.message;
    $("status").textContent = "not run";
  }
  if (stopped) $("status").textContent = "stopped";
  if (finished || stopped || error) {
    waiting.delete(id);
    $("stop").disabled = true;
  }
}

/** Appends the newest samples to those before. */
function gather(all, newest) {
  for (const [name, samples] of Object.entries(newest)) {
    const before = (all[name] ??= {});
    for (const [column, values] of Object.entries(samples)) (before[column] ??= []).push(...values);
  }
}

const colours = () => coloursOf(shown.flows.map(({ controller }) => controller));

function paint() {
  const { flows, links, of, duration } = shown;
  const curve = (samples, column, colour, more) => ({ times: samples?.time_s ?? [], values: samples?.[column] ?? [], colour, ...more });
  const own = colours();
  const alike = Object.values(links).slice(0, 1);
  const capacity = (links.link ? [links.link] : alike).map((link) => curve(link, "capacity_mbps", grey(), { filled: true }));
  const each = (column, more) => flows.map(({ name }, place) => curve(of[name], column, own[place], more));
  draw($("rates"), { title: "Rates", unit: "Mbit/s", duration, curves: [...capacity, ...each("target_bitrate_mbps", { dashed: true }), ...each("throughput_mbps")] });
  draw($("delays"), { title: "Delays", unit: "ms", duration, curves: [...each("send_queue_delay_ms", { dashed: true }), ...each("queue_delay_ms")] });
}

function legend() {
  const item = (colour, style, text) => {
    const mark = Object.assign(document.createElement("i"), { className: style });
    mark.style[style === "filled" ? "background" : "borderColor"] = colour;
    const entry = document.createElement("li");
    entry.append(mark, text);
    return entry;
  };
  const own = colours();
  const flows = shown.flows.map(({ name }, place) => item(own[place], "", `${name}: throughput, queue delay`));
  $("legend").replaceChildren(item(grey(), "filled", "the link's rate"), ...flows, item(grey(), "dashed", "target; wait in the send queue"));
}

function figures(summary) {
  const number = (value, digits) => (value === null || value === undefined ? "" : value.toFixed(digits));
  const rows = Object.entries(summary.flows).map(([name, flow]) => {
    const row = document.createElement("tr");
    const frames = flow.frames;
    const share = frames?.captured ? (frames.displayed / frames.captured) * 100 : null;
    const cells = [name, `${flow.controller} ${flow.profile ?? ""}`, number(flow.throughput_mbps, 2), number(flow.queue_delay_ms?.p50, 1), number(flow.queue_delay_ms?.p95, 1), number(flow.frame_delay_ms?.p95, 1), number(flow.loss_ratio === null ? null : flow.loss_ratio * 100, 2), number(share, 1)];
    row.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return row;
  });
  $("figures").tBodies[0].replaceChildren(...rows);
}

// The address.

async function remember() {
  history.replaceState(null, "", `#${await pack($("toml").value)}`);
}

async function share() {
  await remember();
  const note = Object.keys(files).length ? " (whoever opens it needs the trace, too)" : "";
  try {
    await navigator.clipboard.writeText(location.href);
    $("status").textContent = `address copied${note}`;
  } catch {
    $("status").textContent = `the address is in the browser's address line${note}`;
  }
}

// The beginning.

async function begin() {
  if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
    complain("This browser has no WebAssembly or no workers. The command shows the same: paceline run scenarios/first-call.toml --plot");
    $("status").textContent = "cannot run here";
    return;
  }
  startWorker();
  try {
    fillChoices(await ask({ ask: "kinds" }));
  } catch (error) {
    complain(`The simulator cannot be loaded: ${error.message}. The page needs a web server; a file opened from disk may not load WebAssembly.`);
    $("status").textContent = "cannot run here";
    return;
  }
  showForm();
  $("toml").value = toToml(form, controllers);
  if (location.hash.length > 1) {
    try {
      $("toml").value = await unpack(location.hash.slice(1));
      const read = await checkText();
      if (read) form = fromParameters(read.parameters, form);
      showForm();
    } catch (error) {
      complain(`The address holds no scenario: ${error.message}`);
    }
  }
  $("status").textContent = "ready";
  $("form").addEventListener("change", formChanged);
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  $("stop").addEventListener("click", () => worker.postMessage({ stop: true }));
  $("share").addEventListener("click", share);
  $("toml").addEventListener("input", textChanged);
  $("file").addEventListener("change", (event) => takeFile(event.target.files[0]));
  const stopBrowser = (event) => event.preventDefault();
  document.addEventListener("dragover", (event) => (stopBrowser(event), document.body.classList.add("dropping")));
  document.addEventListener("dragleave", () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    stopBrowser(event);
    document.body.classList.remove("dropping");
    takeFile(event.dataTransfer.files[0]);
  });
  window.addEventListener("resize", paint);
  run();
}

begin();
