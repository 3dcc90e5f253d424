import { reasonOf } from "@isochrone/primitives";
import { CommanderError } from "commander";
import { createProgram } from "./program.ts";
import { exitCodeOf, nextStepOf } from "./errors.ts";
import { terminal } from "./output/terminal.ts";

try {
  await createProgram(terminal.print, process.env["ISOCHRONE_COMMAND_NAME"]).parseAsync(process.argv);
} catch (error) {
  // Commander has already printed its message or the help.
  if (!(error instanceof CommanderError)) terminal.note(`isochrone: ${describe(error)}`);
  // Exit at once: a part that fails to stop must not keep the process alive.
  process.exit(exitCodeOf(error));
}

/** One line with the causes; the stack on request only. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (process.env["ISOCHRONE_DEBUG"] !== undefined) return error.stack ?? error.message;
  const step = nextStepOf(error);
  return step === null ? reasonOf(error) : `${reasonOf(error)}; ${step}`;
}
