import { isList, isRecord, parseJson, type Unchecked } from "@isochrone/primitives";
import type { ProvenSpeaker } from "./speaker.ts";

export type Names = "all" | ReadonlySet<string>;

export interface ServiceRule {
  readonly name: string;
  /** Its user name in the API server; null: it has no token and writes to its own Kafka topic. */
  readonly account: string | null;
  /** Nodes whose usage and measurements it may report. */
  readonly nodes: Names;
  /** Namespaces whose pods and channels it may report. */
  readonly namespaces: Names;
}

/** See Principal of @isochrone/runtime/http. */
interface SendingAccount {
  readonly user: string;
  readonly node: string | null;
}

const KEYS: ReadonlySet<string> = new Set(["name", "account", "nodes", "namespaces"]);
const NAME = /^[A-Za-z0-9:._@-]{1,253}$/;
const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const MAX_RULES = 256;
const MAX_NAMES = 10_000;
const MAX_SHOWN = 80;
const SETTING = "aggregator.speakers";
/** Sender name of the replicas, whose sealed records are always trusted. */
const OWN_NAME = "aggregator";

/** Rules for services. All other senders may report only about the node of their token. */
export class SpeakerPolicy {
  readonly #byAccount: ReadonlyMap<string, ServiceRule>;
  readonly #byName: ReadonlyMap<string, ServiceRule>;

  constructor(rules: readonly ServiceRule[] = []) {
    this.#byAccount = new Map(
      rules.flatMap((rule) => (rule.account === null ? [] : [[rule.account, rule] as const])),
    );
    this.#byName = new Map(rules.map((rule) => [rule.name, rule]));
  }

  /** Returns null if the account has no permission. A configured service is a service on any node. */
  speakerOf({ user, node }: SendingAccount): ProvenSpeaker | null {
    const rule = this.#byAccount.get(user);
    if (rule !== undefined) return { kind: "service", name: rule.name };
    return node === null ? null : { kind: "node", node };
  }

  rule(name: string): ServiceRule | undefined {
    return this.#byName.get(name);
  }
}

export function parseSpeakerRules(text: string | null): ServiceRule[] | { readonly mistake: string } {
  if (text === null) return [];
  const rules = policyJson(text);
  if (!Array.isArray(rules)) return mistake("be a JSON list of rules", text);
  if (rules.length > MAX_RULES) return mistake(`have at most ${MAX_RULES} rules`, String(rules.length));
  const read: ServiceRule[] = [];
  for (const [index, raw] of rules.entries()) {
    const rule = readRule(raw, `${SETTING}[${index}]`);
    if (typeof rule === "string") return { mistake: rule };
    for (const key of ["account", "name"] as const)
      if (rule[key] !== null && read.some((other) => other[key] === rule[key]))
        return { mistake: `${SETTING}[${index}].${key} must be of one rule only, got ${rule[key]} again` };
    read.push(rule);
  }
  return read;
}

export function speakersMistake({ speakers }: { readonly speakers: string | null }): string | null {
  const rules = parseSpeakerRules(speakers);
  return Array.isArray(rules) ? null : rules.mistake;
}

function readRule(raw: unknown, subject: string): ServiceRule | string {
  if (!isRecord(raw))
    return `${subject} must be an object with account or name, nodes and namespaces, got ${shown(raw)}`;
  const fields: Unchecked<ServiceRule> = raw;
  const unknown = Object.keys(raw).find((key) => !KEYS.has(key));
  if (unknown !== undefined)
    return `${subject} must have only ${[...KEYS].join(", ")}, got ${shown(unknown)}`;
  const service = readService(fields, subject);
  if (typeof service === "string") return service;
  const nodes = readNames(fields.nodes, `${subject}.nodes`);
  if (typeof nodes === "object" && "mistake" in nodes) return nodes.mistake;
  const namespaces = readNames(fields.namespaces, `${subject}.namespaces`);
  if (typeof namespaces === "object" && "mistake" in namespaces) return namespaces.mistake;
  if (isNone(nodes) && isNone(namespaces))
    return `${subject} must name nodes or namespaces, got neither: it may speak of nothing`;
  return { ...service, nodes, namespaces };
}

function readService(
  { account = null, name = account }: Unchecked<ServiceRule>,
  subject: string,
): Pick<ServiceRule, "account" | "name"> | string {
  if (name === null) return `${subject} must have an account, or the name of a service on Kafka, got neither`;
  if (account !== null && !isWord(account)) return wordMistake(`${subject}.account`, account);
  if (!isWord(name)) return wordMistake(`${subject}.name`, name);
  if (name === OWN_NAME)
    return `${subject}.name must not be ${OWN_NAME}, as which the replicas themselves speak`;
  return { account, name };
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

function wordMistake(subject: string, value: unknown): string {
  return `${subject} must be 1 to 253 of A-Z, a-z, 0-9, ":", ".", "_", "@" and "-", got ${shown(value)}`;
}

function readNames(raw: unknown, subject: string): Names | { readonly mistake: string } {
  if (raw === undefined) return new Set();
  if (!isList(raw) || raw.length > MAX_NAMES)
    return { mistake: `${subject} must be a list of at most ${MAX_NAMES} names, got ${shown(raw)}` };
  if (raw.length === 1 && raw[0] === "*") return "all";
  const names = new Set<string>();
  for (const name of raw) {
    if (typeof name !== "string" || !OBJECT_NAME.test(name))
      return { mistake: `${subject} must hold names of objects, or "*" alone, got ${shown(name)}` };
    names.add(name);
  }
  return names;
}

function isNone(names: Names): boolean {
  return names !== "all" && names.size === 0;
}

function policyJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function mistake(rule: string, got: string): { readonly mistake: string } {
  return { mistake: `${SETTING} must ${rule}, got ${shown(got)}` };
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
