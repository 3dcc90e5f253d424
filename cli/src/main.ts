import { createProgram } from "./program.ts";
import { CommandError } from "./errors.ts";

const print = (text: string): void => console.log(text);

try {
  await createProgram(print).parseAsync(process.argv);
} catch (error) {
  console.error(`isochrone: ${describe(error)}`);
  // At once: a part that failed to stop must not keep a command alive that has already said why it ends.
  process.exit(error instanceof CommandError ? error.exitCode : 1);
}

/** One line for people; the causes say what stood in the way. A stack is for bugs, on request. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (process.env["ISOCHRONE_DEBUG"] !== undefined) return error.stack ?? error.message;
  return error.message;
}
