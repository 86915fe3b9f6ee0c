// Runs the simulator apart from the page, so that the page stays awake. Messages in: {id, ask, ...} as in src/question.rs, and
// {stop: true}. Messages out: {id, answer}, and while a run goes on {progress}, {rows}.

/** Simulated time between two looks at the clock, in seconds. */
const SLICE_S = 0.25;
/** How long is simulated between two pictures, in milliseconds. */
const PICTURE_MS = 80;

let memory;
let wasm;

async function load() {
  const url = new URL("paceline_playground.wasm", self.location.href);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname}: ${response.status} ${response.statusText}`);
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer(), {});
  wasm = instance.exports;
  memory = wasm.memory;
}

/** Asks the simulator; throws with its message where it answers an error. */
function ask(question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const place = wasm.allocate(bytes.length);
  new Uint8Array(memory.buffer).set(bytes, place);
  const length = wasm.answer();
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, wasm.answered(), length)));
  if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
  return answer;
}

let running = 0;

/** Runs a scenario to its end, or until another begins. */
async function run(id, scenario, files) {
  const mine = ++running;
  const begun = ask({ ask: "begin", scenario, files });
  postMessage({ id, begun });
  const start = performance.now();
  let [simulating, after, over] = [0, 0, false];
  while (!over) {
    const slice = performance.now();
    let state;
    do {
      state = ask({ ask: "advance", seconds: SLICE_S });
      over = state.over;
    } while (!over && performance.now() - slice < PICTURE_MS);
    simulating += performance.now() - slice;
    const rows = ask({ ask: "rows", after });
    after = Math.max(after, ...Object.values({ ...rows.links, ...rows.flows }).map((one) => one.time_s.at(-1) ?? 0));
    postMessage({ id, state: { ...state, simulating_ms: simulating }, rows });
    await new Promise((resolve) => setTimeout(resolve));
    if (mine !== running) return postMessage({ id, stopped: true });
  }
  const finished = ask({ ask: "finish" });
  postMessage({ id, finished: { ...finished, simulating_ms: simulating, wall_ms: performance.now() - start } });
}

const loaded = load();

onmessage = async ({ data: { id, stop, ...question } }) => {
  try {
    await loaded;
    if (stop) running += 1;
    else if (question.ask === "run") await run(id, question.scenario, question.files);
    else postMessage({ id, answer: ask(question) });
  } catch (error) {
    const message = error instanceof WebAssembly.RuntimeError ? `the simulator stopped: ${error.message}; reload the page` : error.message;
    postMessage({ id, error: { message, line: error.line ?? null, key: error.key ?? "" } });
  }
};
