// Where everything that a command says leaves it. Names are words of others: what a terminal acts on is shown
// escaped, here for all commands.
import { visibleLines } from "@isochrone/runtime/basics";
import { visiblePainted } from "./heat.ts";

interface Stream {
  write(text: string): unknown;
}

/** What a command writes to: results to one, remarks to the other. */
interface Terminal {
  /** A result: one or more lines of our own making. */
  readonly print: (text: string, isPainted?: boolean) => void;
  /** A remark or an error: what is piped on doesn't get it. */
  readonly note: (text: string) => void;
}

export function terminalOn(out: Stream, error: Stream): Terminal {
  return {
    print: (text, isPainted = false) =>
      void out.write(`${isPainted ? visiblePainted(text) : visibleLines(text)}\n`),
    note: (text) => void error.write(`${visibleLines(text)}\n`),
  };
}

/** Standard output and standard error. */
export const terminal: Terminal = terminalOn(process.stdout, process.stderr);
