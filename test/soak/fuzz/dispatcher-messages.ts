// HTTP/1.1 messages of kinds on which proxies and endpoints have disagreed: RFC 9112, sections 3 to 9.
import type { Draws } from "./random.ts";

const METHODS = ["GET", "GET", "POST", "POST", "HEAD", "OPTIONS", "CONNECT", "TRACE", "get", "PRI", "QUERY"];
const TARGETS = [
  "/a",
  "/a",
  "*",
  "http://web.shop/a",
  "http://other.example/a",
  "web.shop:80",
  "//web.shop",
  "/a b",
  "/\u0000",
  "",
  `/${"a".repeat(20_000)}`,
];
const VERSIONS = ["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.9", "HTTP/2.0", "HTTP/0.9", ""];
const HOSTS = [
  "Host: web.shop",
  "Host: plain.shop",
  "Host: streams.shop",
  "Host: web.shop\r\nHost: plain.shop",
  "Host: web.shop, plain.shop",
  "Host:",
  "X-None: 1",
];
const FRAMING = [
  "Content-Length: 2",
  "Content-Length: 0",
  "Content-Length: 20",
  "Content-Length: -1",
  "Content-Length: +2",
  "Content-Length: 2, 2",
  "Content-Length: 2\r\nContent-Length: 2",
  "Content-Length: 2\r\nContent-Length: 7",
  "Content-Length: 99999999999999999999",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: chunked\r\nContent-Length: 2",
  "Content-Length: 7\r\nTransfer-Encoding: chunked",
  "Transfer-Encoding: chunked, gzip",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding:\r\n chunked",
  "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
];
const FIELDS = [
  "Expect: 100-continue",
  "Expect: anything",
  "Connection: close",
  "Connection: keep-alive, content-length, host, x-token",
  "Connection: Upgrade\r\nUpgrade: websocket",
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
  "TE: trailers, deflate;q=0.5",
  "Trailer: x-sum, content-length",
  "X-Folded: a\r\n b\r\n\tc",
  " X-First: folded",
  "X-Space : 1",
  "X-Null: a\u0000b",
  "X-Bare: a\nX-Other: b",
  "X-Cr: a\rb",
  "X-Wide: \u00e4\u00ff",
  "No colon",
  ": no name",
  "Content-Type: application/grpc",
  "Isochrone-Hops: shop/web",
  "Set-Cookie: a\r\nSet-Cookie: b",
  Array.from({ length: 1_500 }, (_, at) => `X-${at}: 1`).join("\r\n"),
  Array.from({ length: 300 }, () => "X-Same: 1").join("\r\n"),
  `X-Long: ${"a".repeat(15_000)}`,
  `X-Longer: ${"a".repeat(17_000)}`,
];
const BODIES = [
  "",
  "ab",
  "2\r\nab\r\n0\r\n\r\n",
  "2\r\nab\r\n0\r\nx-sum: 1\r\n\r\n",
  "2\r\nab\r\n0\r\nconnection: x\r\ncontent-length: 9\r\n:path: /\r\nhost: b\r\n\r\n",
  `2;${"e".repeat(20_000)}\r\nab\r\n0\r\n\r\n`,
  "2 \r\nab\r\n0\r\n\r\n",
  "0x2\r\nab\r\n0\r\n\r\n",
  "-2\r\nab\r\n0\r\n\r\n",
  "fffffffffffffffff\r\nab",
  "2\r\nabc\r\n0\r\n\r\n",
  "2\nab\n0\n\n",
  "0\r\n\r\nGET /b HTTP/1.1\r\nHost: plain.shop\r\n\r\n",
];
const STATUSES = [
  "200 OK",
  "204 None",
  "304 Same",
  "205 Reset",
  "404 No",
  "503 Busy",
  "000 Zero",
  "1000 Many",
  "99",
];
const INTERIM = [
  "100 Continue",
  "102 Processing",
  "103 Early Hints\r\nLink: </a>",
  "101 Switching",
  "199 Odd",
];

function many(draws: Draws, below: number, from: readonly string[]): string[] {
  return Array.from({ length: draws.below(below) }, () => draws.pick(from));
}

function fields(draws: Draws, first: readonly string[]): string {
  const framing = draws.chance(0.6) ? [draws.pick(FRAMING)] : [];
  const lines = [...first, ...framing, ...many(draws, 3, FIELDS)];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

export function drawRequests(draws: Draws): Buffer {
  let text = "";
  for (let left = 1 + draws.below(3); left > 0; left--) {
    const line = [draws.pick(METHODS), draws.pick(TARGETS), draws.pick(VERSIONS)].join(" ");
    text += `${line}\r\n${fields(draws, [draws.pick(HOSTS)])}${draws.pick(BODIES)}`;
  }
  return cut(draws, text);
}

export function drawAnswers(draws: Draws): Buffer {
  const interim = many(draws, 4, INTERIM).map((status) => `HTTP/1.1 ${status}\r\n\r\n`);
  const flood = draws.chance(0.05) ? `HTTP/1.1 ${draws.pick(INTERIM)}\r\n\r\n`.repeat(2_000) : "";
  const last = `HTTP/1.1 ${draws.pick(STATUSES)}\r\n${fields(draws, [])}${draws.pick(BODIES)}`;
  return cut(draws, interim.join("") + flood + last);
}

function cut(draws: Draws, text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return draws.chance(0.2) ? bytes.subarray(0, draws.below(bytes.length + 1)) : bytes;
}
