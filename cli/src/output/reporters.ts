import { REGION_MS, ZONE_MS, type TableSites } from "@isochrone/lab";
import { reasonOf } from "@isochrone/primitives";
import { visibleLines } from "@isochrone/runtime";
import { clusterMatrix } from "../commands/graph.ts";
import type { EmbeddedUrls } from "../embedded/options.ts";
import { savedShare, type ActResult } from "../embedded/acts.ts";
import { jsonText, yamlText } from "./format.ts";
import type { LiveView, Reporter } from "./reporter.ts";
import {
  actName,
  latencyText,
  machineText,
  movedText,
  moveMeasuredText,
  resultText,
  servingText,
  startingPartText,
  trialText,
  verdictText,
  warmText,
} from "./sentences.ts";
import { table } from "./table.ts";

/** One JSON object per line; `event` names it. */
export function jsonReporter(print: (text: string) => void): Reporter {
  return eventReporter((event) => print(jsonText(event)));
}

export function yamlReporter(print: (text: string) => void): Reporter {
  return eventReporter((event) => print(`---\n${yamlText(event)}`));
}

function eventReporter(tell: (event: object) => void): Reporter {
  const line = (event: string, fields: object = {}): void => tell({ event, ...fields });
  return {
    starting: (nodes) => line("starting", { nodes }),
    startingPart: (progress) => line("startingPart", progress),
    serving: (page) => line("serving", { page }),
    started: (urls, pid) => line("started", { urls, pid }),
    network: ({ sites, derived }) =>
      line("network", { nodes: sites.map(({ name, zone, region }) => ({ name, zone, region })), derived }),
    warming: (progress) => line("warming", progress),
    warm: (progress) => line("warm", progress),
    measuring: () => undefined,
    replacing: (act, before) => line("replacing", { act, before: before.endToEnd }),
    placed: (result, before, moves) => {
      if (before === null) return line("placed", result);
      const { endToEnd: after, ...figures } = result;
      line("replaced", { before: before.endToEnd, after, ...figures, moves });
    },
    verdict: (results, link) => line("verdict", { acts: results.map(withSavings), busiestLink: link }),
    machine: (state) => line("machine", state),
    moved: (group) => line("moved", group),
    moveMeasured: (group, after, doubt) => line("moveMeasured", { ...group, after, doubt }),
    networkDown: (reason) => line("networkDown", { reason }),
    table: ({ graph, endToEnd }) => line("table", { version: graph.version, endToEnd }),
    tableFailed: (error) => line("tableFailed", { message: reasonOf(error) }),
    trouble: (what, error) => line("trouble", { what, message: reasonOf(error) }),
    stopping: () => line("stopping"),
    stopped: () => line("stopped"),
  };
}

function withSavings(result: ActResult, at: number, [first]: readonly ActResult[]): object {
  const saved = (figure: "p50Ms" | "p95Ms" | "network"): number | null =>
    at === 0 ? null : savedShare(first!, result, figure);
  return { ...result, savedShare: { p50: saved("p50Ms"), p95: saved("p95Ms"), network: saved("network") } };
}

export interface Output {
  readonly isTTY?: boolean;
  readonly rows?: number;
  readonly columns?: number;
  write(text: string): unknown;
}

export function lineReporter(out: Output): Reporter {
  let urls: EmbeddedUrls | null = null;
  const say = (text: string): void => void out.write(`${visibleLines(text)}\n`);
  return {
    starting: (nodes) => say(startingText(nodes)),
    startingPart: (progress) => say(startingPartText(progress)),
    serving: (page) => say(servingText(page)),
    started: (where) => {
      urls = where;
      say(`\n${urlsText(where)}\n\nCtrl-C ends everything.\n`);
    },
    network: (network) => say(networkText(network)),
    warming: (progress) => say(warmText(progress)),
    warm: (progress) => say(`${warmText(progress)}: warm`),
    measuring: () => undefined,
    replacing: (act) => say(`placing it anew, ${actName(act)} ...`),
    placed: (result, _, moves) => {
      const moved = moves.filter(({ from, to }) => from !== to).length;
      say(`${moves.length === 0 ? "" : `pods moved: ${moved}; `}${resultText(result)}`);
    },
    verdict: (results, link, isLive) =>
      say(`\n${verdictText(results)}\n\n${trialText(link, urls!, isLive)}\n`),
    machine: (state) => say(machineText(state)),
    moved: (group) => say(movedText(group)),
    moveMeasured: (group, after, doubt) => say(moveMeasuredText(group, after, doubt)),
    networkDown: (reason) => say(networkDownText(reason)),
    table: () => undefined,
    tableFailed: () => undefined,
    trouble: (what, error) => say(`${what}: ${reasonOf(error)}`),
    stopping: () => say("\nstopping ..."),
    stopped: () => say("stopped"),
  };
}

export function startingText(nodes: number | null): string {
  return nodes === null
    ? "isochrone: starting on the nodes of the given cluster or matrix ..."
    : `isochrone: starting an embedded cluster of ${nodes} nodes ...`;
}

function urlsText({ page, extender, lab }: EmbeddedUrls): string {
  return [
    `  page and graph API   ${page}`,
    `  API description      ${page}/api/v1/openapi.json`,
    `  extender             ${extender}`,
    `  emulator's controls  ${lab}/lab/v1/matrix`,
  ].join("\n");
}

export function networkText({ sites, derived }: TableSites): string {
  const zones = [...new Set(sites.map(({ zone }) => zone))].map((zone) => {
    const nodes = sites.filter((site) => site.zone === zone);
    return `zone ${zone} of region ${nodes[0]!.region} has ${nodes.map(({ name }) => name).join(", ")}`;
  });
  const rule = `derived from round-trip times, up to ${ZONE_MS} ms in a zone and ${REGION_MS} ms in a region`;
  const origin = derived.length === 0 ? "as the matrix names them" : `${derived.join(" and ")} ${rule}`;
  return `network: ${zones.join("; ")} (${origin})`;
}

export function networkDownText(reason: string): string {
  return `the emulated network is down (${reason}): all pairs fall silent until it has started again`;
}

export function viewText({ graph, endToEnd, pods }: LiveView): string {
  const perNode = graph.nodes.map(({ name }) => [
    name,
    pods
      .filter(({ node }) => node === name)
      .map(({ workload }) => workload)
      .join(" "),
  ]);
  return [
    `end to end, last 20 s: ${latencyText(endToEnd)}`,
    "",
    table(["node", "workloads"], perNode),
    "",
    clusterMatrix(graph),
  ].join("\n");
}
