// The form's values as a scenario's TOML, and a scenario's values back in the form.

const quoted = (text) => JSON.stringify(text);
const seconds = (value) => quoted(`${Number(value.toFixed(6))}s`);
const rate = (mbps) => quoted(`${Number(mbps.toPrecision(6))}Mbps`);

/** How the rate of the link goes, by the form's `pattern`. */
function linkRate(form) {
  const { mbps, duration } = form;
  const steps = (...list) => `{ steps = [${list.map(([at, value]) => `[${seconds(at)}, ${rate(value)}]`).join(", ")}] }`;
  switch (form.pattern) {
    case "dip":
      return steps([0, mbps], [duration * 0.4, mbps / 2], [duration * 0.7, mbps]);
    case "stairs":
      return steps([0, mbps / 4], [duration * 0.2, mbps / 2], [duration * 0.4, mbps], [duration * 0.6, mbps / 2], [duration * 0.8, mbps / 4]);
    case "mmwave":
      return '{ generator = "mmwave" }';
    case "trace":
      return `{ trace = ${quoted(form.trace)}, format = ${quoted(form.format)}, repeat = true }`;
    default:
      return rate(mbps);
  }
}

/** The queue's table. Queues that manage themselves have targets of their own. */
function queue({ queue, limit_ms }) {
  return queue === "droptail" ? `{ kind = "droptail", limit = ${quoted(`${limit_ms}ms`)} }` : `{ kind = ${quoted(queue)} }`;
}

const NOISES = {
  none: "",
  jitter: 'noise = { kind = "rfc8868" }\n',
  uniform: 'noise = { kind = "uniform", max = "20ms" }\n',
};

function link(name, form) {
  const loss = form.loss > 0 ? `loss = { kind = "bernoulli", ratio = ${form.loss / 100} }\n` : "";
  return `[links.${name}]
rate = ${linkRate(form)}
delay = ${quoted(`${form.delay_ms}ms`)}
queue = ${queue(form)}
${loss}${NOISES[form.noise] ?? ""}`;
}

/** A flow under a controller. `over` are the transports that carry it. */
function flow({ name, kind, profile }, linkName, form, over) {
  const media = `source = { kind = "trace-encoder", generator = "frames", fps = ${form.fps} }
bitrate = { max = ${rate(form.max_mbps)} }
`;
  const carries = {
    rtp: media,
    udp: media,
    tcp: 'source = { kind = "bulk" }\n',
    dccp: `transport = "dccp"\nsource = { kind = "trace-encoder", generator = "frames", fps = ${form.fps} }\n`,
  };
  const chosen = profile ? `{ kind = ${quoted(kind)}, profile = ${quoted(profile)} }` : quoted(kind);
  const ecn = form.ecn ? `ecn = ${quoted(form.ecn)}\n` : "";
  return `[flows.${name}]
controller = ${chosen}
${carries[over[0]] ?? media}${ecn}path = [${quoted(linkName)}]
`;
}

/** The scenario of a form. `controllers` are those of the simulator, by name. */
export function toToml(form, controllers) {
  const chosen = [form.one, form.other].filter(({ kind }) => kind);
  const names = chosen.map(({ kind }, place) => (place && kind === chosen[0].kind ? `${kind}-2` : kind));
  const shared = form.together || chosen.length < 2;
  const links = shared ? ["link"] : names.map((name) => `link-of-${name}`);
  const flows = chosen.map((one, place) =>
    flow({ ...one, name: names[place] }, links[shared ? 0 : place], form, controllers.get(one.kind)?.over ?? ["rtp"]),
  );
  return `# Runs anywhere: paceline run FILE
duration = ${seconds(form.duration)}
seed = ${form.seed}

${links.map((name) => link(name, form)).join("\n")}
${flows.join("\n")}`;
}

/** The values of a resolved scenario that a form can show, from `parameters` as the simulator answers `read`. */
export function fromParameters(parameters, form) {
  const value = (path) => parameters[path]?.value;
  const named = (table) => [...new Set(Object.keys(parameters).filter((path) => path.startsWith(`${table}.`)).map((path) => path.split(".")[1]))];
  const kindOf = (flow) => value(`flows.${flow}.controller.kind`);
  // Values come by the alphabet: whoever is first in the form stays it.
  const flows = named("flows").sort((one, other) => (kindOf(other) === form.one.kind) - (kindOf(one) === form.one.kind));
  const links = named("links");
  const [first] = links;
  const found = { ...form, duration: value("duration") ?? form.duration, seed: value("seed") ?? form.seed };
  const constant = value(`links.${first}.rate`);
  if (typeof constant === "number") Object.assign(found, { pattern: "constant", mbps: constant / 1e6 });
  const delay = value(`links.${first}.delay`);
  if (delay !== undefined) found.delay_ms = Number((delay * 1e3).toFixed(3));
  const limit = value(`links.${first}.queue.limit`);
  if (limit !== undefined) found.limit_ms = Number((limit * 1e3).toFixed(3));
  found.queue = value(`links.${first}.queue.kind`) ?? form.queue;
  found.loss = Number(((value(`links.${first}.loss.ratio`) ?? 0) * 100).toPrecision(6));
  found.together = links.length < 2;
  [found.one, found.other] = [0, 1].map((place) => {
    const path = `flows.${flows[place]}.controller`;
    return { kind: value(`${path}.kind`) ?? "", profile: value(`${path}.profile`) ?? "" };
  });
  found.fps = value(`flows.${flows[0]}.source.fps`) ?? form.fps;
  return found;
}

/** The format that a trace seems to have, by its name and first lines. */
export function formatOf(name, text) {
  if (name.endsWith(".json")) return "json";
  const lines = text.slice(0, 4000).split(/\r?\n/).filter((line) => /^[\s\d]/.test(line)).slice(0, 20);
  if (lines.some((line) => /[,;\t ]\s*[\d.]/.test(line.trim()))) return "time-mbps";
  const numbers = lines.map(Number);
  const grows = numbers.length > 5 && numbers.every((number, place) => Number.isInteger(number) && number >= (numbers[place - 1] ?? 0));
  return grows ? "mahimahi" : "mbps";
}

/** A scenario packed for an address: deflated, and in letters that need no escape. */
export async function pack(text) {
  const deflated = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The most text that an address may unpack to. */
const LONGEST = 200_000;

/** The scenario of an address; throws if it is none. */
export async function unpack(packed) {
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > LONGEST) throw new Error("the scenario in the address is too long");
  }
}
