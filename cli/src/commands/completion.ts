import type { Command } from "commander";
import { completionScript } from "../completion/scripts.ts";
import type { Shell } from "../completion/scripts.ts";
import { wordsOf } from "../completion/words.ts";

/** Prints the completion script for the program itself: shells do not query kubectl plugins. */
export function completionCommand(shell: Shell, program: Command, print: (text: string) => void): void {
  print(completionScript(shell, "isochrone", wordsOf(program)));
}
