import { nodeProcessHost, systemClock, visible, visibleData } from "@isochrone/runtime/basics";
import { reasonOf } from "@isochrone/primitives";
import type { Clock } from "@isochrone/runtime/basics";
import { usageError } from "../errors.ts";
import { canvasOn, visiblePainted } from "./heat.ts";
import type { Canvas } from "./heat.ts";
import { formatted, jsonText, yamlText } from "./format.ts";
import type { Format } from "./format.ts";
import { terminal } from "./terminal.ts";

/** @param isPainted the text has colours and is already escaped */
export type Print = (text: string, isPainted?: boolean) => void;

export interface View {
  readonly value: unknown;
  /** @param canvas null: without colours */
  text(canvas?: Canvas | null): string;
  dot?(): string;
}

/** Text and drawing get an escaped copy, since names are untrusted. */
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
  /** Refresh interval, ms; undefined: once. */
  readonly watch?: number;
}

/** Terminal on which tables are redrawn; otherwise a watch prints one JSON document per line. */
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
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

/** Ctrl-C arrives twice: from the terminal and from the parent process. */
const SECOND_SIGNAL_MS = 100;

/** Rejects only if the first read fails; a watch retries later ones. */
export async function show(read: () => Promise<View>, options: ShowOptions, print: Print): Promise<void> {
  const { output, watch } = options;
  if (watch === undefined) {
    const canvas = output === "table" ? canvasOn(process.stdout) : null;
    return print(textOf(await read(), output, canvas), canvas !== null);
  }
  const ended = new AbortController();
  const off = nodeProcessHost().onSignal(() => ended.abort());
  // The reader of the pipe is gone.
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
    // A second signal would kill the closing process and change its exit code.
    if (ended.signal.aborted) await systemClock.sleep(SECOND_SIGNAL_MS);
    off();
  }
}

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

/** YAML documents need separators; JSON documents are lines. */
function lineOf(value: unknown, output: Format): string {
  return output === "yaml" ? `---\n${yamlText(value)}` : jsonText(value);
}

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

/** Overwrites line by line, then clears the rest: clearing first would flicker. */
function page(text: string, head: string, rows = 0): string {
  const all = [visible(head), "", ...visiblePainted(text).split("\n")];
  // A terminal of unknown height reports 0.
  const room = rows === 0 ? all.length : Math.max(3, rows - 1);
  const lines =
    all.length <= room ? all : [...all.slice(0, room - 1), `... ${all.length - room + 1} lines more`];
  return `\u001b[H${lines.map((line) => `${line}\u001b[K\n`).join("")}\u001b[J`;
}
