// How often songs come back: plays by rank, on two logarithmic axes.

import { plural } from "../app/words.js";
import { figure, percent } from "./figure.js";
import { plot } from "./plots.js";
import { logTicks } from "./ticks.js";

const TITLE = "How often songs come back";
const FEWEST = 3; // songs; of fewer there is nothing to see
const STRAIGHT = 0.9; // R² from which a straight line says it well
const RANKS = [1, 2, 3, 5, 10, 20, 30, 50, 100, 150, 200];

export function songsThatComeBack(taste, tools) {
  const { repeats } = taste;
  if (repeats === null) return null;
  const sentence = sentenceOf(taste);
  const isDrawn = repeats.share > 0 && repeats.plays_by_rank.length >= FEWEST;
  return figure({
    key: "repeats",
    title: TITLE,
    sentence,
    body: isDrawn ? plot(specOf(repeats, sentence), tools) : null,
    table: isDrawn ? tableOf(repeats) : null,
  });
}

// What the fitted line says of a rank.
const expected = ({ first, exponent }, rank) => first * rank ** -exponent;

function sentenceOf({ repeats, counts }) {
  const { share, plays_by_rank: plays, zipf } = repeats;
  if (!share) return `You have heard ${plural(counts.songs, "song")}, none of them twice yet.`;
  const half = halfOf(plays, counts.plays);
  const often = `${percent(share)} of your plays were songs you had heard before; the most played one came ${plural(plays[0], "time")}`;
  const few =
    half === null || counts.songs < 2 * FEWEST
      ? ""
      : `, and ${half} of ${plural(counts.songs, "song")} make up half of all plays`;
  return `${often}${few}.${zipf ? ` ${lineInWords(zipf, plays)}` : ""}`;
}

// How many of the most played songs make up half of all plays; null if not those listed.
function halfOf(plays, all) {
  let sum = 0;
  for (const [place, count] of plays.entries()) {
    sum += count;
    if (sum >= all / 2) return place + 1;
  }
  return null;
}

function lineInWords({ exponent, first, r_squared: fit }, plays) {
  const line = `a song of twice the rank gets ${percent(2 ** -exponent)} of the plays`;
  if (fit >= STRAIGHT) return `Along the dashed line ${line}, as Zipf’s law has it.`;
  const top = plays[0] < first ? "share theirs more evenly" : "stand out more";
  return `Along the dashed line ${line}; your top songs ${top}.`;
}

const lineInNumbers = ({ exponent, r_squared: fit }) =>
  `Dashed: best straight line, slope −${exponent.toFixed(1)}, R²\u00a0${fit.toFixed(2)}`;

function specOf(repeats, sentence) {
  const { plays_by_rank: plays, zipf } = repeats;
  const ranks = plays.map((_, place) => place + 1);
  const [xs, ys] = [
    { min: 0.85, max: ranks.length * 1.15 },
    { min: 0.8, max: plays[0] * 1.5 },
  ];
  const columns = [ranks, plays];
  if (zipf) columns.push(ranks.map((rank) => expected(zipf, rank)));
  return {
    title: TITLE,
    sentence,
    x: { name: "Rank of the song, by plays", ...xs, isLog: true, ticks: () => logTicks(1, xs.max) },
    y: { name: "Plays", ...ys, isLog: true, ticks: () => logTicks(1, ys.max) },
    columns,
    series: ["solid", "dashed"].slice(0, columns.length - 1),
    pointed: 1,
    start: 0,
    rest: zipf ? lineInNumbers(zipf) : "",
    describe: (index) => `Rank ${ranks[index]}: ${plural(plays[index], "play")}`,
  };
}

function tableOf({ plays_by_rank: plays, zipf }) {
  const rows = RANKS.filter((rank) => rank <= plays.length).map((rank) => [
    String(rank),
    String(plays[rank - 1]),
    ...(zipf ? [expected(zipf, rank).toFixed(1)] : []),
  ]);
  return { head: ["Rank", "Plays", ...(zipf ? ["By the line"] : [])], rows };
}
