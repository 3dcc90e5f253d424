import { visibleLines } from "@isochrone/runtime";
import type { HotSiteUrls } from "../embedded/hot-site/hot-site-lab.ts";
import type { ActFigures, HotSiteAct, HotSiteReporter } from "../embedded/hot-site/story.ts";
import { jsonText, yamlText, type Format } from "./format.ts";
import { table } from "./table.ts";

interface FullReporter extends HotSiteReporter {
  starting(): void;
  started(urls: HotSiteUrls, pid: number): void;
  stopping(): void;
  stopped(): void;
}

/** One line, JSON object or YAML document per event. */
export function hotSiteReporter(output: Format, print: (text: string) => void): FullReporter {
  if (output === "table") return textReporter((text) => print(visibleLines(text)));
  const text =
    output === "json" ? (event: object) => jsonText(event) : (event: object) => `---\n${yamlText(event)}`;
  const line = (event: string, fields: object = {}): void => print(text({ event, ...fields }));
  return {
    starting: () => line("starting"),
    started: (urls, pid) => line("started", { urls, pid }),
    beginning: (act) => line("beginning", { act }),
    grown: (zone) => line("grown", { zone }),
    measured: (act, figures) => line("measured", { act, ...plain(figures) }),
    verdict: (acts) =>
      line("verdict", {
        acts: Object.fromEntries(Array.from(acts, ([act, figures]) => [act, plain(figures)])),
      }),
    stopping: () => line("stopping"),
    stopped: () => line("stopped"),
  };
}

function plain({ zones, ...figures }: ActFigures): object {
  return { ...figures, zones: Object.fromEntries(zones) };
}

const ACT_NAMES: Readonly<Record<HotSiteAct, string>> = {
  near: "PreferSameZone, autoscaler on CPU",
  hints: "hints, replicas by forecast",
  dispatcher: "dispatcher, replicas by forecast",
};

function textReporter(say: (text: string) => void): FullReporter {
  let urls: HotSiteUrls | null = null;
  return {
    starting: () => say("isochrone: starting three zones with users, callers and replicas ..."),
    started: (where) => {
      urls = where;
      say(`\n  page and graph API   ${where.page}\n\nCtrl-C ends everything.\n`);
    },
    beginning: (act) => say(`${ACT_NAMES[act]}: new replicas, and calm users ...`),
    grown: (zone) => say(`  the requests of zone ${zone} grow ...`),
    measured: (act, figures) => say(`${measuredText(act, figures)}\n`),
    verdict: (acts) => say(`${verdictText(acts)}\n\n${trialText(urls!)}`),
    stopping: () => say("\nstopping ..."),
    stopped: () => say("stopped"),
  };
}

function measuredText(act: HotSiteAct, figures: ActFigures): string {
  const rows = Array.from(figures.zones, ([zone, { requests, inTimeRatio, replicas }]) => [
    zone,
    requests,
    percent(inTimeRatio),
    replicas,
  ]);
  return table(["calling zone", "requests", "in time", "replicas"], rows)
    .split("\n")
    .map((line) => `  ${line}`)
    .concat(`  ${ACT_NAMES[act]}: ${percent(figures.inTimeRatio)} in time`)
    .join("\n");
}

function verdictText(acts: ReadonlyMap<HotSiteAct, ActFigures>): string {
  return Array.from(
    acts,
    ([act, { inTimeRatio }]) => `${ACT_NAMES[act]}: ${percent(inTimeRatio)} of all requests in time`,
  ).join("\n");
}

function trialText({ page }: HotSiteUrls): string {
  return [
    "Try in another terminal:",
    `  npx isochrone dispatch status --server ${page}`,
    "      lists what spreads the requests of each Service, and what leaves its zone",
    `  ${page}/#/traffic/default/api`,
    "      shows calling zones by serving zones in a browser",
  ].join("\n");
}

function percent(ratio: number | null): string {
  return ratio === null ? "–" : `${(100 * ratio).toFixed(1)} %`;
}
