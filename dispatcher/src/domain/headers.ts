export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>;

const OF_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/**
 * Fields needed before the content, or for framing and routing: RFC 9110, section 6.5.1, forbids them in
 * trailers. HTTP/2 libraries throw on some.
 */
const NOT_IN_TRAILERS = new Set([
  "age",
  "authorization",
  "cache-control",
  "content-encoding",
  "content-length",
  "content-range",
  "content-type",
  "cookie",
  "date",
  "expect",
  "expires",
  "host",
  "location",
  "max-forwards",
  "pragma",
  "range",
  "retry-after",
  "set-cookie",
  "trailer",
  "vary",
  "www-authenticate",
]);

/** Services whose dispatchers have handled the request. */
export const HOPS_HEADER = "isochrone-hops";
/** Longer chains of Services are treated as loops. */
const MAX_HOPS = 16;

export function passedOn(headers: HeaderValues): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  const named = namedBy(textOf(headers.connection));
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !name.startsWith(":") && !OF_CONNECTION.has(name) && !named?.has(name))
      passed[name] = value;
  return passed;
}

export function passedOnTrailers(trailers: HeaderValues): Record<string, string | string[]> {
  const passed = passedOn(trailers);
  for (const name of Object.keys(passed)) if (NOT_IN_TRAILERS.has(name)) delete passed[name];
  return passed;
}

/** Headers named in `Connection`, which belong to the connection too. */
function namedBy(connection: string): Set<string> | null {
  if (connection === "" || connection === "keep-alive" || connection === "close") return null;
  return new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
}

/** Appends the Service to the hops; null for a loop, as between dispatchers that call each other. */
export function withHop(hops: string | readonly string[] | undefined, service: string): string | null {
  const before =
    hops === undefined
      ? []
      : String(hops)
          .split(",")
          .map((hop) => hop.trim());
  if (before.includes(service) || before.length >= MAX_HOPS) return null;
  return [...before, service].join(", ");
}

/**
 * `TE` is hop-by-hop, and HTTP/2 only allows `trailers`. The dispatcher forwards trailers, so it requests
 * them if its client does.
 */
export function passedOnTe({ te }: HeaderValues): { readonly te?: "trailers" } {
  return /(?:^|,)\s*trailers\s*(?:$|,|;)/i.test(textOf(te)) ? { te: "trailers" } : {};
}

const CONTENT_TYPE = "content-type";
const GRPC = /^application\/grpc(?:$|[+;])/i;

export function isGrpc(headers: HeaderValues): boolean {
  return GRPC.test(textOf(headers[CONTENT_TYPE]));
}

function textOf(value: string | string[] | undefined): string {
  return value === undefined ? "" : String(value);
}
