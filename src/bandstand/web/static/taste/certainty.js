// The radio's uncertainty about new songs, by the number of answers.

import { plural } from "../app/words.js";
import { SCALE, hasRated, isTooUnsure, ratingDoubtOf } from "./uncertainty.js";
import { figure, inStars } from "./figure.js";
import { plot } from "./plots.js";
import { logTicks } from "./ticks.js";

const TITLE = "How well the radio knows you";
const LESS = 0.95; // of what it was; then it has fallen

export function certainty(taste, tools) {
  const points = taste.uncertainty;
  if (!points.length) return null;
  const sentence = sentenceOf(taste);
  return figure({
    key: "certainty",
    title: TITLE,
    sentence,
    body: points.length > 1 ? plot(specOf(points, sentence), tools) : null,
    table: points.length > 1 ? tableOf(points) : null,
  });
}

function sentenceOf(taste) {
  const { uncertainty, noise, counts } = taste;
  const [first, last] = [uncertainty[0], uncertainty.at(-1)];
  const answers = plural(last.answers, "answer");
  if (!hasRated(counts))
    return `After ${answers}, ${counts.ratings || "none"} of them ratings, the radio can hardly say what a song is worth to you in stars.`;
  if (last.stars > SCALE)
    return `After ${answers} next to nothing is known of what a new song is worth to you.`;
  if (isTooUnsure(taste))
    return `After ${answers} the radio hardly knows yet what a new song is worth to you (give or take ${inStars(last.stars)}).${courseOf(first, last)}`;
  const worth = `${inStars(last.stars)}${uncertainty.length === 1 ? "" : ` (${startOf(first)})`}`;
  if (noise === null)
    return `After ${answers} the radio knows what a new song is worth to you on average, give or take about ${worth}.`;
  return `After ${answers} the radio can guess what you would give a new song, give or take about ${inStars(ratingDoubtOf(taste))}: by ${worth} it may be wrong about the song, and single ratings scatter by ${inStars(noise)}.`;
}

const startOf = ({ answers, stars }) =>
  `after ${plural(answers, "answer")} ${stars > SCALE ? "next to nothing was known" : `it was ${inStars(stars)}`}`;

// What the doubt has done since the first answer. It may well rise at first.
function courseOf(first, last) {
  if (first === last) return "";
  if (last.stars < LESS * first.stars) return ` That is less than at first: ${startOf(first)}.`;
  return ` It has not fallen yet (${startOf(first)}): the first answers show how far apart your ratings lie, which can add doubt.`;
}

function specOf(points, sentence) {
  const answers = points.map((point) => point.answers);
  const stars = points.map((point) => point.stars);
  const [low, high] = [Math.min(...stars), Math.max(...stars)];
  const name = (index) => `After ${plural(answers[index], "answer")}: ± ${inStars(stars[index])}`;
  const y = { min: low / 1.4, max: high * 1.35 };
  return {
    title: TITLE,
    sentence,
    x: {
      name: "Answers so far",
      min: answers[0] / 1.12,
      max: answers.at(-1) * 1.12,
      isLog: true,
      ticks: () => xTicks(answers.at(-1)),
    },
    y: {
      name: "Doubt about what a new song is worth, in stars",
      ...y,
      isLog: true,
      ticks: () => logTicks(y.min, y.max),
    },
    columns: [answers, stars],
    series: ["marks"],
    pointed: 1,
    start: points.length - 1,
    rest: `Now: ± ${inStars(stars.at(-1))}`,
    describe: name,
    marks: (pen) => writeValues(pen, answers, stars),
  };
}

// Powers of ten are enough once there are some.
const xTicks = (most) =>
  logTicks(1, most).filter(([at]) => most < 50 || Number.isInteger(Math.log10(at)));

// A number beside each mark, where the next one leaves room for it.
function writeValues(pen, answers, stars) {
  let free = Infinity; // pixels from the right end to what was written last
  for (const index of [...answers.keys()].reverse()) {
    const words = stars[index].toFixed(1);
    const [room, wide] = [pen.room(answers[index]), pen.wide(words)];
    const isLast = index === answers.length - 1;
    if (!isLast && room - free < wide + 14) continue;
    const align = isLast && room < wide / 2 ? "right" : "center";
    pen.text(words, answers[index], stars[index], { dy: -16, dx: isLast ? 0 : 6, align });
    free = room;
  }
}

function tableOf(points) {
  return {
    head: ["Answers", "Doubt in stars"],
    rows: points
      .slice(-12)
      .map(({ answers, stars }) => [answers.toLocaleString("en-GB"), stars.toFixed(2)]),
  };
}
