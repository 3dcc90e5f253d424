// Completion scripts of three shells, generated from the same words. Each determines the typed command, then
// the possible next words.
import type { CommandWords, OptionWords, Value } from "./words.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, name: string, words: readonly CommandWords[]): string {
  return SCRIPTS[shell](name, words);
}

/** The words contain no shell metacharacters, but descriptions contain quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const isNested = ({ path }: CommandWords): boolean => path !== "";

const SCRIPTS: Readonly<Record<Shell, (name: string, words: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

interface Case {
  readonly patterns: readonly string[];
  readonly value: Value;
}

function valueCases(words: readonly CommandWords[]): Case[] {
  const all = words.flatMap(({ path, options }) =>
    options
      // Skips options with an optional value: the next word may be anything.
      .filter(({ value, isValueOptional }) => value !== null && !isValueOptional)
      .map(({ flags, value }) => ({ patterns: flags.map((flag) => `${path}:${flag}`), value: value! })),
  );
  const alike = Map.groupBy(all, ({ value }) => JSON.stringify(value));
  return [...alike.values()].map((cases) => ({
    patterns: cases.flatMap(({ patterns }) => patterns),
    value: cases[0]!.value,
  }));
}

function bashScript(name: string, words: readonly CommandWords[]): string {
  const fn = `_${name.replaceAll("-", "_")}`;
  const reply = (value: Value): string => {
    if (value === "file") return 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))';
    return value === "any"
      ? "COMPREPLY=()"
      : `COMPREPLY=($(compgen -W ${quoted(value.words.join(" "))} -- "$cur"))`;
  };
  return [
    `# bash completion of ${name}: source <(${name} completion bash)`,
    `${fn}() {`,
    '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD - 1]}" at="" i',
    // bash splits --output=json at the sign.
    '  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev="${COMP_WORDS[COMP_CWORD - 2]}"; fi',
    "  for ((i = 1; i < COMP_CWORD; i++)); do",
    '    case "$at/${COMP_WORDS[i]}" in',
    `      ${words
      .filter(isNested)
      .map(({ path }) => path)
      .join(" | ")}) at="$at/\${COMP_WORDS[i]}" ;;`,
    "    esac",
    "  done",
    '  case "$at:$prev" in',
    ...valueCases(words).map(
      ({ patterns, value }) => `    ${patterns.join(" | ")}) ${reply(value)}; return ;;`,
    ),
    "  esac",
    "  if [[ $cur == -* ]]; then",
    '    case "$at" in',
    ...words.map(({ path, options }) => `      ${quoted(path)}) ${reply({ words: flagsOf(options) })} ;;`),
    "    esac",
    "    return",
    "  fi",
    '  case "$at" in',
    ...words.map((each) => `    ${quoted(each.path)}) ${reply(nextOf(each))} ;;`),
    "  esac",
    "}",
    `complete -F ${fn} ${name}`,
  ].join("\n");
}

function zshScript(name: string, words: readonly CommandWords[]): string {
  const fn = `_${name.replaceAll("-", "_")}`;
  const reply = (value: Value): string => {
    if (value === "file") return "_files";
    return value === "any" ? "true" : `compadd -- ${value.words.map(quoted).join(" ")}`;
  };
  const described = (each: readonly { readonly word: string; readonly description: string }[]): string =>
    each.map(({ word, description }) => quoted(`${word}:${description}`)).join(" ");
  const commands = words.filter((each) => each.commands.length > 0);
  return [
    `#compdef ${name}`,
    `# zsh completion of ${name}: source <(${name} completion zsh), or a file _${name} in a folder of $fpath`,
    `${fn}() {`,
    "  local at= prev i",
    "  local -a found",
    "  for ((i = 2; i < CURRENT; i++)); do",
    '    case "$at/$words[i]" in',
    `      ${words
      .filter(isNested)
      .map(({ path }) => path)
      .join(" | ")}) at="$at/$words[i]" ;;`,
    "    esac",
    "  done",
    '  prev="$words[CURRENT-1]"',
    '  if [[ "$PREFIX" == --*=* ]]; then prev="${PREFIX%%=*}"; compset -P 1 "*="; fi',
    '  case "$at:$prev" in',
    ...valueCases(words).map(
      ({ patterns, value }) => `    ${patterns.join(" | ")}) ${reply(value)}; return ;;`,
    ),
    "  esac",
    '  if [[ "$PREFIX" == -* ]]; then',
    '    case "$at" in',
    ...words.map(
      ({ path, options }) =>
        `      ${quoted(path)}) found=(${described(options.flatMap(({ flags, description }) => flags.map((word) => ({ word, description }))))}) ;;`,
    ),
    "    esac",
    "    _describe option found",
    "    return",
    "  fi",
    '  case "$at" in',
    ...commands.map(
      (each) =>
        `    ${quoted(each.path)}) found=(${described(each.commands.map(({ name: word, description }) => ({ word, description })))}); _describe command found ;;`,
    ),
    ...words
      .filter((each) => each.commands.length === 0)
      .map((each) => `    ${quoted(each.path)}) ${reply(nextOf(each))} ;;`),
    "  esac",
    "}",
    `if [[ "$funcstack[1]" == ${fn} ]]; then ${fn} "$@"; else compdef ${fn} ${name}; fi`,
  ].join("\n");
}

function fishScript(name: string, words: readonly CommandWords[]): string {
  const at = `__${name.replaceAll("-", "_")}_at`;
  const line = (path: string, rest: string): string =>
    `complete -c ${name} -n ${quoted(`${at} "${path}"`)} ${rest}`;
  const nested = words.filter(isNested).map(({ path }) => quoted(path));
  const values = (value: Value): string => {
    if (value === "file") return " -r -F";
    return value === "any" ? " -x" : ` -x -a ${quoted(value.words.join(" "))}`;
  };
  const flagOf = (flag: string): string =>
    flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
  const optionLine = (path: string, { flags, description, value, isValueOptional }: OptionWords): string =>
    line(
      path,
      `${flags.map(flagOf).join(" ")} -d ${quoted(description)}${value === null || isValueOptional ? "" : values(value)}`,
    );
  return [
    `# fish completion of ${name}: ${name} completion fish | source`,
    `function ${at}`,
    "  set -l here ''",
    "  for word in (commandline -opc)",
    "    switch $here/$word",
    `      case ${nested.join(" ")}`,
    "        set here $here/$word",
    "    end",
    "  end",
    '  test "$here" = "$argv[1]"',
    "end",
    `complete -c ${name} -f`,
    ...words.flatMap((each) => [
      ...each.commands.map((command) =>
        line(each.path, `-a ${command.name} -d ${quoted(command.description)}`),
      ),
      ...(each.argument === null
        ? []
        : [line(each.path, values(each.argument).trim().replace("-r -F", "-F"))]),
      ...each.options.map((option) => optionLine(each.path, option)),
    ]),
  ].join("\n");
}

function nextOf({ commands, argument }: CommandWords): Value {
  if (commands.length > 0) return { words: commands.map(({ name }) => name) };
  return argument ?? "any";
}

function flagsOf(options: readonly OptionWords[]): string[] {
  return options.flatMap(({ flags }) => flags);
}
