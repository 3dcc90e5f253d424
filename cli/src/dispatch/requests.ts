import type { DispatchRecord } from "@isochrone/dispatcher";
import { isList, looseFields, reasonOf } from "@isochrone/primitives";
import { CommandError } from "../errors.ts";
import { percent } from "./percent.ts";

interface DispatchedRequests {
  readonly decisions: readonly DispatchRecord[];
}

const TIMEOUT_MS = 10_000;

export async function readRequests(
  server: string,
  service: string,
  limit: number,
): Promise<DispatchedRequests> {
  const path = `/api/v1/dispatch-decisions?service=${encodeURIComponent(service)}&limit=${limit}`;
  const url = `${server.replace(/\/+$/, "")}${path}`;
  let answer: unknown;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status === 404)
      throw new CommandError(`${url} is not there: --server must be a dispatcher, not the graph API`);
    if (!response.ok) throw new CommandError(`${url} answered with status ${response.status}`);
    answer = await response.json();
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${url} can't be read: ${reasonOf(error)}`, { cause: error });
  }
  if (!areRequests(answer)) throw new CommandError(`${url} didn't answer with a dispatcher's decisions`);
  return answer;
}

function areRequests(answer: unknown): answer is DispatchedRequests {
  const { decisions } = looseFields<DispatchedRequests>(answer);
  return isList(decisions) && decisions.every((one) => isList(looseFields<DispatchRecord>(one).tries));
}

export function requestsText({ decisions }: DispatchedRequests, service: string): string {
  if (decisions.length === 0) return `the dispatcher has kept no request to ${service}`;
  return decisions.map(requestText).join("\n\n");
}

function requestText(record: DispatchRecord): string {
  const { at, service, policy, endpoints, tries } = record;
  const asked = `${at}  ${service}: ${told(ENDS[record.outcome], record)}`;
  const why = `  by ${policy} among ${endpoints} endpoints, ${deadlineOf(record)}, ${workOf(record)}`;
  return [asked, why, ...tries.map(tryText)].join("\n");
}

const ENDS: Readonly<Record<DispatchRecord["outcome"], string>> = {
  in_time: "answered in time",
  late: "answered late",
  answered: "answered",
  failed: "failed",
  refused: "refused",
  abandoned: "given up by the client",
};

function told(end: string, { status, tookMs, reason }: DispatchRecord): string {
  const by = status === null ? "" : ` with ${status}`;
  const after = tookMs === null ? "" : ` after ${ms(tookMs)}`;
  return `${end}${by}${after}${reason === null ? "" : ` (${reason})`}`;
}

function deadlineOf({ leftMs, deadlineFrom }: DispatchRecord): string {
  return leftMs === null ? "no deadline" : `${ms(leftMs)} left (${deadlineFrom})`;
}

function workOf({ workMs }: DispatchRecord): string {
  return workMs === null ? "work not known yet" : `work ${ms(workMs)}`;
}

function tryText(one: DispatchRecord["tries"][number]): string {
  const { endpoint, node, zone, inTime, waitMs, roundTripMs, inFlight, failureShare, fault } = one;
  const facts = [
    `round trip ${ms(roundTripMs)}`,
    `wait ${ms(waitMs)}`,
    `${inFlight} under way`,
    ...(failureShare > 0 ? [`${percent(failureShare)} failed`] : []),
    ...(inTime === null ? [] : [`in time with ${percent(inTime)}`]),
  ];
  const end = fault === null ? "" : `; then another one: ${fault}`;
  return `  ${endpoint} on ${node ?? "an unknown node"}, zone ${zone ?? "unknown"}: ${facts.join(", ")}${end}`;
}

function ms(value: number): string {
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
}
