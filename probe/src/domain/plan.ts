import { isList, isRecord, type LooseFields } from "@isochrone/primitives";
import { PlanRefusedError } from "../ports/errors.ts";
import type { PlanRefusal, ProbePeer, ProbePlan } from "../ports/ports.ts";
import { isUnusableTarget, parseAddress } from "./ip.ts";

export interface PlanRules {
  readonly node: string;
  readonly maxPeers: number;
}

const MAX_NAME_LENGTH = 253;
const NAME = /^[a-zA-Z0-9]([-a-zA-Z0-9._]*[a-zA-Z0-9])?$/;

/** @throws PlanRefusedError naming rule and value; no part of such a plan is used */
export function parsePlan(body: unknown, rules: PlanRules): ProbePlan {
  const record = objectOf(body, "plan");
  const node = textOf(record, "node", "plan");
  if (node !== rules.node)
    refuse("wrong_node", `the plan is for node ${show(node)}, this is ${show(rules.node)}`);
  const { peers } = record;
  if (!isList(peers)) refuse("bad_field", `plan.peers must be a list, got ${show(peers)}`);
  if (peers.length > rules.maxPeers) {
    refuse("too_many_peers", `plan.peers must have at most ${rules.maxPeers} entries, got ${peers.length}`);
  }
  const parsed = peers.map((peer, index) => parsePeer(peer, `plan.peers[${index}]`));
  checkTogether(parsed, rules.node);
  const identity = textOf(record, "identity", "plan");
  parseTarget(identity, "plan.identity");
  return {
    version: textOf(record, "version", "plan"),
    node,
    identity,
    zone: optionalTextOf(record, "zone", "plan"),
    region: optionalTextOf(record, "region", "plan"),
    signingKeyId: optionalNumberOf(record, "signingKeyId", "plan"),
    peers: parsed,
  };
}

function parsePeer(value: unknown, path: string): ProbePeer {
  const record = objectOf(value, path);
  const node = textOf(record, "node", path);
  if (node.length > MAX_NAME_LENGTH || !NAME.test(node)) {
    refuse(
      "bad_node_name",
      `${path}.node must be a DNS subdomain of at most ${MAX_NAME_LENGTH} characters, got ${show(node)}`,
    );
  }
  const address = textOf(record, "address", path);
  parseTarget(address, `${path}.address`);
  const identity = textOf(record, "identity", path);
  parseTarget(identity, `${path}.identity`);
  return {
    node,
    zone: optionalTextOf(record, "zone", path),
    region: optionalTextOf(record, "region", path),
    address,
    identity,
    udpPort: portOf(record, "udpPort", path),
    tcpPort: portOf(record, "tcpPort", path),
    bandwidthPort: optionalNumberOf(record, "bandwidthPort", path),
  };
}

/** Two peers at one address would double its packets; two with one identity could answer for each other. */
function checkTogether(peers: readonly ProbePeer[], self: string): void {
  const nodes = new Set<string>();
  const identities = new Set<string>();
  const targets = new Set<string>();
  for (const peer of peers) {
    if (peer.node === self) refuse("self_peer", `plan.peers must not name this node, got ${show(self)}`);
    addOnce(nodes, peer.node, "duplicate_node", "node");
    addOnce(identities, canonical(peer.identity), "duplicate_identity", "identity");
    const address = canonical(peer.address);
    addOnce(targets, `udp ${address} ${peer.udpPort}`, "duplicate_target", "address and udpPort");
    addOnce(targets, `tcp ${address} ${peer.tcpPort}`, "duplicate_target", "address and tcpPort");
  }
}

function canonical(address: string): string {
  return Buffer.from(parseAddress(address) ?? []).toString("hex");
}

function addOnce(seen: Set<string>, value: string, reason: PlanRefusal, what: string): void {
  if (seen.has(value)) refuse(reason, `plan.peers must differ in ${what}, got ${show(value)} twice`);
  seen.add(value);
}

function parseTarget(text: string, path: string): void {
  const bytes = parseAddress(text);
  if (bytes === null || isUnusableTarget(bytes)) {
    refuse("bad_address", `${path} must be the IP address of one host, got ${show(text)}`);
  }
}

/** Absent in plans of an older aggregator. Ports and key ids have the same range. */
function optionalNumberOf(record: LooseFields, key: string, path: string): number | null {
  return record[key] === undefined || record[key] === null ? null : portOf(record, key, path);
}

function portOf(record: LooseFields, key: string, path: string): number {
  const value = record[key];
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > 65_535) {
    refuse("bad_port", `${path}.${key} must be an integer from 1 to 65535, got ${show(value)}`);
  }
  return value;
}

function objectOf(value: unknown, path: string): LooseFields {
  if (!isRecord(value)) refuse("not_an_object", `${path} must be an object, got ${show(value)}`);
  return value;
}

function textOf(record: LooseFields, key: string, path: string): string {
  const value = record[key];
  if (typeof value !== "string" || value === "" || value.length > MAX_NAME_LENGTH) {
    refuse(
      "bad_field",
      `${path}.${key} must be text of 1 to ${MAX_NAME_LENGTH} characters, got ${show(value)}`,
    );
  }
  return value;
}

function optionalTextOf(record: LooseFields, key: string, path: string): string | null {
  const value = record[key];
  return value === null || value === undefined ? null : textOf(record, key, path);
}

function refuse(reason: PlanRefusal, message: string): never {
  throw new PlanRefusedError(reason, message);
}

/** Truncates values: hostile ones end up in log lines. */
function show(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
