import type { Argument, Command, Option } from "commander";

export type Value = { readonly words: readonly string[] } | "file" | "any";

export interface OptionWords {
  readonly flags: readonly string[];
  readonly description: string;
  /** Null: the option takes none. */
  readonly value: Value | null;
  readonly isValueOptional: boolean;
}

export interface CommandWords {
  /** Command names, each preceded by a `/`; the program's is "". */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly OptionWords[];
  readonly argument: Value | null;
}

export function wordsOf(program: Command): CommandWords[] {
  return ofCommand(program, "");
}

function ofCommand(command: Command, path: string): CommandWords[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const here: CommandWords = {
    path,
    commands: commands.map((each) => ({ name: each.name(), description: each.description() })),
    options: help.visibleOptions(command).map(ofOption),
    argument: argumentOf(command.registeredArguments),
  };
  const below = commands
    .filter((each) => each.name() !== "help")
    .flatMap((each) => ofCommand(each, `${path}/${each.name()}`));
  return [here, ...below];
}

function ofOption({ short, long, description, required, optional, argChoices, flags }: Option): OptionWords {
  const takesValue = required || optional;
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    description,
    value: takesValue ? valueOf(argChoices, flags) : null,
    isValueOptional: optional,
  };
}

function argumentOf(args: readonly Argument[]): Value | null {
  const [first] = args;
  return first === undefined ? null : valueOf(first.argChoices, first.name());
}

/** Recognizes file values by their name in the help. */
function valueOf(choices: readonly string[] | undefined, named: string): Value {
  if (choices !== undefined) return { words: choices };
  return /\b(file|folder|path)\b/.test(named) ? "file" : "any";
}
