import { reasonOf } from "@isochrone/primitives";
import { visibleLines } from "@isochrone/runtime";
import type { EndToEnd } from "@isochrone/lab";
import type { Reporter, WarmUp } from "./reporter.ts";
import { clusterMatrix } from "../commands/graph.ts";
import { jsonText, yamlText } from "./format.ts";
import { bar } from "./progress.ts";
import { table } from "./table.ts";

/** One JSON object a line; `event` names it. */
export function jsonReporter(print: (text: string) => void): Reporter {
  return eventReporter((event) => print(jsonText(event)));
}

/** A YAML document for each event. */
export function yamlReporter(print: (text: string) => void): Reporter {
  return eventReporter((event) => print(`---\n${yamlText(event)}`));
}

function eventReporter(tell: (event: object) => void): Reporter {
  const line = (event: string, fields: object = {}): void => tell({ event, ...fields });
  return {
    starting: (nodes) => line("starting", { nodes }),
    started: (urls, pid) => line("started", { urls, pid }),
    warming: (progress) => line("warming", progress),
    warm: (progress) => line("warm", progress),
    replacing: (before) => line("replacing", { before }),
    replaced: (before, after, moves) => line("replaced", { before, after, moves }),
    networkDown: (reason) => line("networkDown", { reason }),
    table: ({ graph, endToEnd }) => line("table", { version: graph.version, endToEnd }),
    tableFailed: (error) => line("tableFailed", { message: reasonOf(error) }),
    trouble: (what, error) => line("trouble", { what, message: reasonOf(error) }),
    stopping: () => line("stopping"),
    stopped: () => line("stopped"),
  };
}

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const TABLES_WITHOUT_TERMINAL_EVERY = 15;

/** For people. On a terminal the table is drawn over itself; elsewhere it comes now and then. */
export function textReporter(out: Terminal): Reporter {
  const live = out.isTTY === true;
  let drawnLines = 0;
  let tables = 0;
  const say = (text: string): void => {
    drawnLines = 0;
    out.write(`${visibleLines(text)}\n`);
  };
  const draw = (text: string): void => {
    if (live && drawnLines > 0) out.write(`\u001b[${drawnLines}A\u001b[0J`);
    out.write(`${visibleLines(text)}\n`);
    drawnLines = text.split("\n").length;
  };
  return {
    starting: (nodes) =>
      say(
        nodes === null
          ? "isochrone: starting on the simulated nodes of the cluster ..."
          : `isochrone: starting an embedded cluster of ${nodes} nodes ...`,
      ),
    started: ({ page, extender, lab }) =>
      say(
        [
          "",
          `  page and graph API   ${page}`,
          `  API description      ${page}/api/v1/openapi.json`,
          `  extender             ${extender}`,
          `  emulator's controls  ${lab}/lab/v1/matrix`,
          "",
          "Ctrl-C ends everything.",
          "",
        ].join("\n"),
      ),
    warming: (progress) => (live ? draw(warmBar(progress)) : say(warmText(progress))),
    warm: (progress) => say(`${warmText(progress)}: warm`),
    replacing: (before) =>
      say(`end to end before: ${latencyText(before)}\nplacing the workflow anew by score ...`),
    replaced: (before, after, moves) => {
      const moved = moves.filter(({ from, to }) => from !== to);
      say(
        [
          "",
          table(
            ["workload", "from", "to"],
            moved.map(({ workload, from, to }) => [workload, from, to]),
          ),
          "",
        ].join("\n"),
      );
      say(`end to end before: ${latencyText(before)}\nend to end after:  ${latencyText(after)}\n`);
    },
    networkDown: (reason) => say(`the emulated network is down (${reason}): all pairs fall silent`),
    table: ({ graph, endToEnd, pods }) => {
      if (!live && tables++ % TABLES_WITHOUT_TERMINAL_EVERY !== 0) return;
      const perNode = graph.nodes.map(({ name }) => [
        name,
        pods
          .filter(({ node }) => node === name)
          .map(({ workload }) => workload)
          .join(" "),
      ]);
      draw(
        [
          clusterMatrix(graph),
          "",
          table(["node", "workloads"], perNode),
          "",
          `end to end, last 20 s: ${latencyText(endToEnd)}`,
        ].join("\n"),
      );
    },
    tableFailed: (error) => (live ? draw(`the graph can't be read: ${reasonOf(error)}`) : undefined),
    trouble: (what, error) => say(`${what}: ${reasonOf(error)}`),
    stopping: () => say("\nstopping ..."),
    stopped: () => say("stopped"),
  };
}

/** The least of what is waited for. */
function warmBar(progress: WarmUp): string {
  const { linksMeasured, links, podsReady, pods } = progress;
  return `${bar(Math.min(linksMeasured / links, podsReady / pods))} ${warmText(progress)}`;
}

function warmText({ linksMeasured, links, channels, podsReady, pods, seconds }: WarmUp): string {
  return `${seconds.toFixed(0).padStart(3)} s: ${linksMeasured} of ${links} links measured, ${podsReady} of ${pods} pods ready, ${channels} channels seen`;
}

function latencyText({ count, errors, p50Ms, p95Ms }: EndToEnd): string {
  const ms = (value: number | null): string => (value === null ? "–" : `${value.toFixed(0)} ms`);
  return `p50 ${ms(p50Ms)}, p95 ${ms(p95Ms)} (${count} requests, ${errors} failed)`;
}
