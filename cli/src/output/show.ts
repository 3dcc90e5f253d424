// Prints what a command read, once or again and again.
import { nodeProcessHost, systemClock, visible, visibleData } from "@isochrone/runtime/basics";
import { reasonOf } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime/basics";
import { usageError } from "../errors.ts";
import { canvasOn, visiblePainted } from "./heat.ts";
import type { Canvas } from "./heat.ts";
import { formatted, jsonText, yamlText } from "./format.ts";
import type { Format } from "./format.ts";
import { terminal } from "./terminal.ts";

/** Prints lines; painted ones may hold colours, and no word of others that wasn't made visible. */
export type Print = (text: string, isPainted?: boolean) => void;

/** What a command shows: data for machines, text for people. {@link viewOf} makes it. */
export interface View {
  readonly value: unknown;
  /** @param canvas where colours can be shown; null: text alone */
  text(canvas?: Canvas | null): string;
  /** As a drawing, where there is one. */
  dot?(): string;
}

/** Text and drawing are made of a copy in which nothing is hidden: names are words of others. */
export function viewOf<T>(
  value: T,
  {
    text,
    dot,
  }: {
    readonly text: (shown: T, canvas: Canvas | null) => string;
    readonly dot?: (shown: T) => string;
  },
): View {
  return {
    value,
    text: (canvas = null) => text(visibleData(value), canvas),
    ...(dot === undefined ? {} : { dot: () => dot(visibleData(value)) }),
  };
}

export interface ShowOptions {
  readonly output: Format | "dot";
  /** Milliseconds between two looks; undefined: one look. */
  readonly watch?: number;
}

/** Where tables are redrawn; elsewhere than on a terminal a watch prints a JSON document per line. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly rows?: number;
  readonly columns?: number;
  getColorDepth?(): number;
  write(text: string): unknown;
}

interface WatchSurroundings {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Ends the watch in good order. */
  readonly signal: AbortSignal;
  /** Is told what a look that failed failed of, where no table is redrawn. */
  readonly note: (text: string) => void;
}

/** Ctrl-C on a terminal comes twice: from it, and from the process that started this one. */
const SECOND_SIGNAL_MS = 100;

/** Throws what the first look throws; of a watch, later looks may fail, and are tried again. */
export async function show(read: () => Promise<View>, options: ShowOptions, print: Print): Promise<void> {
  const { output, watch } = options;
  if (watch === undefined) {
    const canvas = output === "table" ? canvasOn(process.stdout) : null;
    return print(textOf(await read(), output, canvas), canvas !== null);
  }
  const ended = new AbortController();
  const off = nodeProcessHost().onSignal(() => ended.abort());
  // Whoever read the lines has gone.
  process.stdout.on("error", () => ended.abort());
  try {
    await watchView(
      read,
      { output, watch },
      {
        screen: process.stdout,
        clock: systemClock,
        signal: ended.signal,
        note: (text) => terminal.note(`isochrone: ${text}`),
      },
    );
  } finally {
    // The second signal would end a process that is just closing, and so its exit code.
    if (ended.signal.aborted) await systemClock.sleep(SECOND_SIGNAL_MS);
    off();
  }
}

/** Looks until the signal. */
export async function watchView(
  read: () => Promise<View>,
  { output, watch }: Required<ShowOptions>,
  { screen, clock, signal, note }: WatchSurroundings,
): Promise<void> {
  if (output === "dot") throw usageError("--watch goes with -o table, json or yaml, got dot");
  const isRedrawn = output === "table" && screen.isTTY === true;
  let view = await unlessEnded(read, signal);
  let trouble: string | null = null;
  while (view !== null && !signal.aborted) {
    if (isRedrawn)
      screen.write(page(view.text(canvasOn(screen)), headOf(clock, watch, trouble), screen.rows));
    else if (trouble !== null) note(trouble);
    else screen.write(`${lineOf(view.value, output)}\n`);
    if (!(await isSlept(clock, watch, signal))) return;
    try {
      view = await unlessEnded(read, signal);
      trouble = null;
    } catch (error) {
      trouble = reasonOf(error);
    }
  }
}

function textOf(view: View, output: ShowOptions["output"], canvas: Canvas | null): string {
  if (output !== "dot") return formatted(output, view.value, () => view.text(canvas));
  if (view.dot === undefined) throw usageError("-o dot is for graphs");
  return view.dot();
}

/** YAML documents are parted; JSON documents are lines. */
function lineOf(value: unknown, output: Format): string {
  return output === "yaml" ? `---\n${yamlText(value)}` : jsonText(value);
}

/** null: it was ended meanwhile. */
async function unlessEnded<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T | null> {
  const ended = new Promise<null>((resolve) =>
    signal.addEventListener("abort", () => resolve(null), { once: true }),
  );
  return await Promise.race([read(), ended]);
}

async function isSlept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

function headOf(clock: Clock, watchMs: number, trouble: string | null): string {
  const at = new Date(clock.now()).toISOString().slice(11, 19);
  const state = trouble === null ? "" : `; the last look failed, this is older: ${trouble}`;
  return `${at} UTC, every ${watchMs / 1000} s, Ctrl-C ends${state}`;
}

/** Each line over the old one, then the rest of the old page away: clearing first would flicker. */
function page(text: string, head: string, rows = 0): string {
  const all = [visible(head), "", ...visiblePainted(text).split("\n")];
  // A terminal that does not say how high it is says 0.
  const room = rows === 0 ? all.length : Math.max(3, rows - 1);
  const lines =
    all.length <= room ? all : [...all.slice(0, room - 1), `... ${all.length - room + 1} lines more`];
  return `\u001b[H${lines.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`;
}
