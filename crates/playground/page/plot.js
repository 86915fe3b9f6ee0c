// Two pictures over one axis of time: rates above, delays below.

import { CYCLE, DARK, GREY, LIGHT, LOOKS } from "./vocabulary.js";

const MARGIN = { left: 52, right: 12, top: 22, bottom: 30 };

const palette = () => (window.matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT);

/** The colour of what belongs to no controller. */
export const grey = () => palette()[GREY];

/** The colours of flows by the kinds of their controllers: the first of a kind has its own, others have free ones. */
export function coloursOf(kinds) {
  const places = [];
  kinds.forEach((kind, flow) => {
    const isFirst = kind in LOOKS && !places.includes(LOOKS[kind]);
    const later = kinds.slice(flow + 1).map((other) => LOOKS[other]);
    const free = CYCLE.find((place) => !places.includes(place) && !later.includes(place));
    places.push(isFirst ? LOOKS[kind] : (free ?? CYCLE[flow % CYCLE.length]));
  });
  return places.map((place) => palette()[place]);
}

/** The step between two marks of an axis up to `most`: 1, 2 or 5 of a power of ten. */
function stepOf(most, marks) {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 1e-9) / marks));
  return [1, 2, 5, 10].map((part) => part * power).find((step) => most / step <= marks);
}

/** Draws one panel of curves: each `{times, values, colour, dashed, filled}`. */
export function draw(canvas, { title, unit, curves, duration }) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const paint = canvas.getContext("2d");
  paint.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const [ink, grid] = [style.getPropertyValue("--ink"), style.getPropertyValue("--grid")];
  const most = Math.max(1e-3, ...curves.map(({ values }) => values.reduce((top, value) => Math.max(top, value ?? 0), 0))) * 1.08;
  const [inner, tall] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const x = (time) => MARGIN.left + (time / duration) * inner;
  const y = (value) => MARGIN.top + tall - (value / most) * tall;
  paint.font = "12px system-ui, sans-serif";
  paint.fillStyle = ink;
  paint.textAlign = "left";
  paint.fillText(`${title}, ${unit}`, MARGIN.left, 14);
  paint.strokeStyle = grid;
  paint.lineWidth = 1;
  const across = stepOf(most, 5);
  paint.textAlign = "right";
  for (let value = 0; value <= most; value += across) {
    paint.beginPath();
    paint.moveTo(MARGIN.left, y(value));
    paint.lineTo(width - MARGIN.right, y(value));
    paint.stroke();
    paint.fillText(String(Number(value.toPrecision(6))), MARGIN.left - 6, y(value) + 4);
  }
  const along = stepOf(duration, Math.max(2, inner / 70));
  paint.textAlign = "center";
  for (let time = 0; time <= duration; time += along) {
    paint.fillText(String(Number(time.toPrecision(6))), x(time), height - 14);
  }
  paint.textAlign = "right";
  paint.fillText("time, s", width - MARGIN.right, height - 1);
  for (const { times, values, colour, dashed, filled } of curves) {
    paint.beginPath();
    let down = false;
    times.forEach((time, place) => {
      const value = values[place];
      if (value === null || value === undefined) {
        down = false;
      } else if (down) {
        paint.lineTo(x(time), y(value));
      } else {
        paint.moveTo(x(time), y(value));
        down = true;
      }
    });
    paint.setLineDash(dashed ? [4, 3] : []);
    if (filled && times.length) {
      paint.lineTo(x(times.at(-1)), y(0));
      paint.lineTo(x(times[0]), y(0));
      paint.fillStyle = colour;
      paint.globalAlpha = 0.25;
      paint.fill();
      paint.globalAlpha = 1;
    } else {
      paint.strokeStyle = colour;
      paint.lineWidth = dashed ? 1 : 1.6;
      paint.stroke();
    }
  }
  paint.setLineDash([]);
}
