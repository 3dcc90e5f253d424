export interface TestConnection {
  readonly id: number;
  readonly bytes?: number | null;
  readonly answerBytes?: number;
  readonly client?: string;
  readonly server?: string;
  readonly service?: string;
  readonly protocol?: number;
  readonly clientPort?: number;
  readonly serverPort?: number;
  readonly zone?: number;
}

const NESTED = 0x8000;

export function connectionMessage(connection: TestConnection, isEnd = false): Buffer {
  const {
    id,
    client = "10.0.1.7",
    server = "10.0.2.9",
    service = server,
    protocol = 6,
    clientPort = 40_000,
    serverPort = 5432,
    zone = 0,
  } = connection;
  return message(
    isEnd ? 0x102 : 0x100,
    nfgen(),
    attribute(1 | NESTED, tuple(client, service, protocol, clientPort, serverPort)),
    attribute(2 | NESTED, tuple(server, client, protocol, serverPort, clientPort)),
    ...countersOf(connection),
    attribute(3, number(4, 0x188)),
    attribute(12, number(4, id)),
    ...(zone === 0 ? [] : [attribute(18, number(2, zone))]),
  );
}

function countersOf({ bytes = 0, answerBytes }: TestConnection): Buffer[] {
  if (bytes === null) return [];
  const answered = answerBytes ?? Math.ceil(bytes / 2);
  return [attribute(9, counters(bytes - answered)), attribute(10, counters(answered))];
}

export function cpuMessage(dropped: number, evicted: number, insertsFailed: number): Buffer {
  return message(
    0x104,
    nfgen(),
    attribute(9, number(4, insertsFailed)),
    attribute(10, number(4, dropped)),
    attribute(11, number(4, evicted)),
  );
}

export function doneMessage(errno = 0): Buffer {
  const code = Buffer.alloc(4);
  code.writeInt32LE(-errno, 0);
  return message(errno === 0 ? 3 : 2, code);
}

function message(type: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(16);
  head.writeUInt32LE(head.length + body.length, 0);
  head.writeUInt16LE(type, 4);
  return Buffer.concat([head, body]);
}

function nfgen(): Buffer {
  return Buffer.from([2, 0, 0, 0]);
}

function attribute(type: number, value: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(4 + value.length, 0);
  head.writeUInt16LE(type, 2);
  return Buffer.concat([head, value, Buffer.alloc(-value.length & 3)]);
}

function counters(bytes: number): Buffer {
  const wide = (value: number): Buffer => {
    const eight = Buffer.alloc(8);
    eight.writeBigUInt64BE(BigInt(value));
    return eight;
  };
  return Buffer.concat([attribute(1, wide(3)), attribute(2, wide(bytes))]);
}

function tuple(source: string, target: string, protocol: number, from: number, to: number): Buffer {
  const isIp6 = source.includes(":");
  const ip = Buffer.concat([
    attribute(isIp6 ? 3 : 1, addressBytes(source)),
    attribute(isIp6 ? 4 : 2, addressBytes(target)),
  ]);
  const ports = Buffer.concat([
    attribute(1, number(1, protocol)),
    ...(protocol === 1 ? [] : [attribute(2, number(2, from)), attribute(3, number(2, to))]),
  ]);
  return Buffer.concat([attribute(1 | NESTED, ip), attribute(2 | NESTED, ports)]);
}

function number(size: 1 | 2 | 4, value: number): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
}

/** Requires all eight groups of an IPv6 address. */
function addressBytes(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const bytes = Buffer.alloc(16);
  for (const [index, group] of address.split(":").entries())
    bytes.writeUInt16BE(parseInt(group, 16), index * 2);
  return bytes;
}
