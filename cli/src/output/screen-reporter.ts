import { reasonOf } from "@isochrone/primitives";
import { visibleLines } from "@isochrone/runtime";
import type { EmbeddedUrls } from "../embedded/options.ts";
import { bar } from "./progress.ts";
import type { Measuring, Reporter, WarmUp } from "./reporter.ts";
import { networkDownText, networkText, startingText, viewText, type Output } from "./reporters.ts";
import {
  actName,
  machineText,
  measuringText,
  movedText,
  moveMeasuredText,
  resultText,
  servingText,
  startingPartText,
  trialText,
  verdictText,
  warmText,
} from "./sentences.ts";

const EVENTS = 6;
const COLUMNS = 80;
const MIN_COLUMNS = 20;

export function screenReporter(out: Output, nowText: () => string): Reporter & { log(text: string): void } {
  const parts = { head: "", now: "", result: "", busy: "", view: "" };
  const events: string[] = [];
  let urls: EmbeddedUrls | null = null;
  const draw = (changed: Partial<typeof parts> = {}): void => {
    Object.assign(parts, changed);
    const { head, now, result, busy, view } = parts;
    const blocks = [head, now, busy, result, events.join("\n"), view];
    const text = blocks.filter((block) => block !== "").join("\n\n");
    out.write(page(text, out));
  };
  const event = (text: string, changed: Partial<typeof parts> = {}): void => {
    events.push(`${nowText()}  ${text}`);
    if (events.length > EVENTS) events.shift();
    draw(changed);
  };
  return {
    starting: (nodes) => draw({ head: startingText(nodes) }),
    startingPart: (progress) =>
      draw({ now: `${bar(progress.done / progress.total)} ${startingPartText(progress)}` }),
    serving: (address) => draw({ head: servingText(address) }),
    started: (where, _pid, pageWithControls) => {
      urls = where;
      const summary = `isochrone  page ${where.page}  emulator ${where.lab}  Ctrl-C ends everything`;
      // On its own line: a wrapped address cannot be opened.
      draw({ head: `${summary}\npage with the emulator's controls:\n${pageWithControls}` });
    },
    network: (network) => event(networkText(network)),
    warming: (progress) => draw({ now: warmBar(progress) }),
    warm: () => draw({ now: "" }),
    measuring: (progress) => draw({ now: `${bar(measuredShare(progress))} ${measuringText(progress)}` }),
    replacing: (act) => draw({ now: `placing it anew: ${actName(act)} ...` }),
    placed: (result) => event(resultText(result), { now: "" }),
    verdict: (results, link, isLive) => {
      events.length = 0;
      draw({ now: "", result: `${verdictText(results)}\n\n${trialText(link, urls!, isLive)}` });
    },
    machine: (state) => draw({ busy: state.isBusy ? machineText(state) : "" }),
    moved: (group) => event(movedText(group)),
    moveMeasured: (group, after, doubt) => event(moveMeasuredText(group, after, doubt)),
    networkDown: (reason) => event(networkDownText(reason)),
    table: (view) => draw({ view: viewText(view) }),
    tableFailed: (error) => draw({ view: `the graph can't be read: ${reasonOf(error)}` }),
    trouble: (what, error) => event(`${what}: ${reasonOf(error)}`),
    stopping: () => out.write("\nstopping ...\n"),
    stopped: () => out.write("stopped\n"),
    log: (text) => event(text),
  };
}

const measuredShare = ({ fairMs, wantedMs, allMs, patienceMs }: Measuring): number =>
  Math.max(fairMs / wantedMs, allMs / patienceMs);

function warmBar(progress: WarmUp): string {
  const { linksMeasured, links, podsReady, pods } = progress;
  return `${bar(Math.min(linksMeasured / links, podsReady / pods))} ${warmText(progress)}`;
}

/** Overwrites line by line, then clears the rest: clearing first would flicker. */
function page(text: string, { rows = 0, columns = 0 }: Output): string {
  const width = columns === 0 ? COLUMNS : Math.max(MIN_COLUMNS, columns);
  const all = visibleLines(text)
    .split("\n")
    .flatMap((line) => wrapped(line, width));
  const lines = rows === 0 ? all : all.slice(0, Math.max(3, rows - 3));
  return `\u001b[H${lines.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`;
}

const INDENT = "    ";

function wrapped(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  if (/ {2}\S/.test(line.trimStart().slice(12))) return [line.slice(0, width)];
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const space = rest.lastIndexOf(" ", width);
    // Breaks words wider than the terminal, beyond the indent to guarantee progress.
    const at = space > INDENT.length ? space : width;
    lines.push(rest.slice(0, at));
    rest = `${INDENT}${rest.slice(at).trimStart()}`;
  }
  return [...lines, rest];
}
