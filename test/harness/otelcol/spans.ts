import { randomBytes } from "node:crypto";

export const KIND = { server: 2, client: 3, producer: 4, consumer: 5 } as const;
const STATUS_ERROR = 2;

interface Span {
  readonly service: string;
  readonly span: Record<string, unknown>;
}

export interface Call {
  readonly from: string;
  readonly to: string;
  readonly count: number;
  readonly failed: number;
  readonly milliseconds: number;
  readonly kinds: readonly [client: number, server: number];
  readonly attributes?: Readonly<Record<string, string>>;
  readonly seen?: "both" | "client" | "server";
}

export const HTTP = [KIND.client, KIND.server] as const;
const hex = (bytes: number): string => randomBytes(bytes).toString("hex");
const attribute = (key: string, value: string): object => ({ key, value: { stringValue: value } });

/** Returns both spans of a call: the client's, and the server's within it. */
function spansOf(call: Call, failed: boolean, endMs: number): Span[] {
  const traceId = hex(16);
  const clientId = hex(8);
  const time = (ms: number): string => `${BigInt(Math.round(ms * 1000)) * 1000n}`;
  const span = (service: string, kind: number, from: number, to: number, more: object): Span => ({
    service,
    span: {
      traceId,
      name: `${call.from} calls ${call.to}`,
      kind,
      startTimeUnixNano: time(from),
      endTimeUnixNano: time(to),
      status: failed ? { code: STATUS_ERROR } : {},
      ...more,
    },
  });
  const beginMs = endMs - call.milliseconds;
  const [clientKind, serverKind] = call.kinds;
  const attributes = Object.entries(call.attributes ?? {}).map(([key, value]) => attribute(key, value));
  const client = span(call.from, clientKind, beginMs, endMs, { spanId: clientId, attributes });
  const parent = call.seen === "server" ? {} : { parentSpanId: clientId };
  const server = span(call.to, serverKind, beginMs + 0.5, endMs - 0.5, { spanId: hex(8), ...parent });
  return call.seen === "client" ? [client] : call.seen === "server" ? [server] : [client, server];
}

/** Resource attributes by service. Without any, its spans don't show where it runs. */
export type Services = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Sends the spans of all calls, ending now, to an OTLP/HTTP receiver. Returns their number. */
export async function sendSpans(url: string, calls: readonly Call[], services: Services): Promise<number> {
  const endMs = Date.now();
  const spans = calls.flatMap((call) =>
    Array.from({ length: call.count }, (_, i) => spansOf(call, i < call.failed, endMs)).flat(),
  );
  const answer = await fetch(`${url}/v1/traces`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(requestOf(spans, services)),
  });
  if (!answer.ok) throw new Error(`spans refused: ${answer.status} ${await answer.text()}`);
  return spans.length;
}

function requestOf(spans: readonly Span[], services: Services): object {
  const byService = new Map<string, Span[]>();
  for (const span of spans) byService.set(span.service, [...(byService.get(span.service) ?? []), span]);
  return {
    resourceSpans: [...byService].map(([service, list]) => ({
      resource: {
        attributes: Object.entries({ "service.name": service, ...services[service] }).map(([key, value]) =>
          attribute(key, value),
        ),
      },
      scopeSpans: [{ scope: { name: "test" }, spans: list.map(({ span }) => span) }],
    })),
  };
}
