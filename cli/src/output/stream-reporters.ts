import { visibleLines } from "@isochrone/runtime";
import type { StreamAct, StreamFigures, StreamReporter } from "../embedded/streams/story.ts";
import type { StreamUrls } from "../embedded/streams/stream-lab.ts";
import { jsonText, yamlText, type Format } from "./format.ts";
import { table } from "./table.ts";

interface StreamsReporter extends StreamReporter {
  starting(nodes: number, links: number, jobs: number): void;
  started(urls: StreamUrls, pid: number): void;
  stopping(): void;
  stopped(): void;
}

/** One line, JSON object or YAML document per event. */
export function streamsReporter(output: Format, print: (text: string) => void): StreamsReporter {
  if (output === "table") return textReporter((text) => print(visibleLines(text)));
  const text =
    output === "json" ? (event: object) => jsonText(event) : (event: object) => `---\n${yamlText(event)}`;
  const line = (event: string, fields: object = {}): void => print(text({ event, ...fields }));
  return {
    starting: (nodes, links, jobs) => line("starting", { nodes, links, jobs }),
    started: (urls, pid) => line("started", { urls, pid }),
    placing: (act, what) => line("placing", { act, what }),
    measured: (act, figures) => line("measured", { act, jobs: figures }),
    verdict: (acts) => line("verdict", { acts: Object.fromEntries(acts) }),
    trouble: (message) => line("trouble", { message }),
    stopping: () => line("stopping"),
    stopped: () => line("stopped"),
  };
}

function textReporter(say: (text: string) => void): StreamsReporter {
  let urls: StreamUrls | null = null;
  return {
    starting: (nodes, links, jobs) =>
      say(`isochrone: starting ${nodes} nodes, ${links} links and ${jobs} stream jobs ...`),
    started: (where) => {
      urls = where;
      say(`\n  page and graph API   ${where.page}\n\nCtrl-C ends everything.\n`);
    },
    placing: (act, what) => say(`${ACT_NAMES[act]}: ${what} ...`),
    measured: (act, figures) => say(`${measuredText(act, figures)}\n`),
    verdict: (acts) => say(`${verdictText(acts)}\n\n${trialText(urls!)}`),
    trouble: say,
    stopping: () => say("\nstopping ..."),
    stopped: () => say("stopped"),
  };
}

const ACT_NAMES: Readonly<Record<StreamAct, string>> = { tp: "TP", joint: "joint", changed: "narrow link" };

function measuredText(act: StreamAct, figures: readonly StreamFigures[]): string {
  return table(
    ["job", "predicted", "measured", "limited by"],
    figures.map(({ job, predicted, measured, limit }) => [job, frames(predicted), frames(measured), limit]),
  )
    .split("\n")
    .map((line) => `  ${line}`)
    .concat(`  ${ACT_NAMES[act]}: ${sumText(figures)}`)
    .join("\n");
}

function sumText(figures: readonly StreamFigures[]): string {
  const measured = figures.map((each) => each.measured ?? 0);
  const sum = measured.reduce((all, each) => all + each, 0);
  return `${sum.toFixed(1)} frames/s of all jobs, ${Math.min(...measured).toFixed(2)} of the slowest`;
}

function verdictText(acts: ReadonlyMap<StreamAct, readonly StreamFigures[]>): string {
  return [...acts].map(([act, figures]) => `${ACT_NAMES[act]}: measured ${sumText(figures)}`).join("\n");
}

function trialText({ page }: StreamUrls): string {
  return [
    "Try in another terminal:",
    `  npx isochrone flows --server ${page}`,
    "      prints rate and route of each flow",
    `  ${page}/#/streams`,
    "      shows jobs and links in a browser",
  ].join("\n");
}

const frames = (value: number | null): string => (value === null ? "waits" : value.toFixed(2));
