import { reasonOf } from "@isochrone/primitives";
import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { exitCodeOf, nextStepOf } from "./errors.ts";
import { terminal } from "./output/terminal.ts";

try {
  // Called as a plugin of kubectl, help must say what people type.
  await createProgram(terminal.print, process.env["ISOCHRONE_COMMAND_NAME"]).parseAsync(process.argv);
} catch (error) {
  // Commander has said what was wrong, or printed the help that was asked for.
  if (!(error instanceof CommanderError)) terminal.note(`isochrone: ${describe(error)}`);
  // At once: a part that failed to stop must not keep a command alive that has already said why it ends.
  process.exit(exitCodeOf(error));
}

/** One line for people; the causes say what stood in the way. A stack is for bugs, on request. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (process.env["ISOCHRONE_DEBUG"] !== undefined) return error.stack ?? error.message;
  const step = nextStepOf(error);
  return step === null ? reasonOf(error) : `${reasonOf(error)}; ${step}`;
}
