// The only exit of printed text: escapes terminal control characters for all commands.
import { visibleLines } from "@isochrone/runtime/basics";
import { visiblePainted } from "./heat.ts";

interface Stream {
  write(text: string): unknown;
}

interface Terminal {
  readonly print: (text: string, isPainted?: boolean) => void;
  /** Prints a remark or error, which is not piped. */
  readonly note: (text: string) => void;
}

export function terminalOn(out: Stream, error: Stream): Terminal {
  return {
    print: (text, isPainted = false) =>
      void out.write(`${isPainted ? visiblePainted(text) : visibleLines(text)}\n`),
    note: (text) => void error.write(`${visibleLines(text)}\n`),
  };
}

export const terminal: Terminal = terminalOn(process.stdout, process.stderr);
