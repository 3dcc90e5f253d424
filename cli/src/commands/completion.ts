import type { Command } from "commander";
import { completionScript } from "../completion/scripts.ts";
import type { Shell } from "../completion/scripts.ts";
import { wordsOf } from "../completion/words.ts";

/**
 * Prints the shell's completion script. Completion is of the program itself: shells don't ask plugins of
 * kubectl.
 */
export function completionCommand(shell: Shell, program: Command, print: (text: string) => void): void {
  print(completionScript(shell, "isochrone", wordsOf(program)));
}
