// Netlink messages of connection tracking, after Linux' include/uapi/linux/netlink.h, netfilter/nfnetlink.h
// and netfilter/nfnetlink_conntrack.h. Headers are in host byte order, attribute values in network byte
// order.

export const NETLINK = {
  netfilter: 12,
  solNetlink: 270,
  addMembership: 1,
  destroyGroup: 3,
} as const;

const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const FLAG_REQUEST = 1;
const FLAG_DUMP = 0x300;
const SUBSYSTEM = 1 << 8;
const HEADER_BYTES = 16;
const NFGEN_BYTES = 4;
const ATTRIBUTE_HEAD = 4;
/** Masks the nesting and byte order flags of an attribute's type. */
const TYPE_MASK = 0x3fff;

export const MESSAGE = { new: 0, get: 1, delete: 2, cpuStatistics: 4, statistics: 5 } as const;
const CTA = { original: 1, reply: 2, originalCounters: 9, replyCounters: 10, id: 12, zone: 18 } as const;
const TUPLE = { ip: 1, protocol: 2 } as const;
const IP = { v4Source: 1, v6Source: 3 } as const;
const PROTOCOL = { number: 1, sourcePort: 2, destinationPort: 3 } as const;
const COUNTER_BYTES = 2;
const STATISTICS = { insertFailed: 9, drop: 10, earlyDrop: 11 } as const;
const GLOBAL = { entries: 1, maximum: 2 } as const;

const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 33, 132, 136]);
const UDP = 17;
/** VXLAN (two ports in use), Geneve, WireGuard: they carry pods' packets, which are counted themselves. */
const TUNNEL_PORTS: ReadonlySet<number> = new Set([4789, 8472, 6081, 51820]);

/** A reused object: read it only during the call. */
export interface Connection {
  /** Both ends regardless of address translation; raw bytes as latin1. */
  key: string;
  /** Addresses of the opener and the responder, raw bytes as latin1. */
  client: string;
  server: string;
  /** Kernel id; differs for the next connection of the same ends. */
  id: number;
  zone: number;
  /** Both directions with IP headers; null: not counted (nf_conntrack_acct). */
  bytes: number | null;
  answerBytes: number;
  isTunnel: boolean;
}

export interface TableDrops {
  /** Packets dropped because the table was full. */
  dropped: number;
  evicted: number;
  insertsFailed: number;
}

export interface NetlinkVisitor {
  connection?(connection: Connection, isEnd: boolean): void;
  drops?(drops: TableDrops): void;
  table?(size: { readonly entries: number; readonly maximum: number | null }): void;
  done(errno: number): void;
}

export function request(message: number, sequence: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + NFGEN_BYTES);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(SUBSYSTEM | message, 4);
  bytes.writeUInt16LE(message === MESSAGE.statistics ? FLAG_REQUEST : FLAG_REQUEST | FLAG_DUMP, 6);
  bytes.writeUInt32LE(sequence, 8);
  return bytes;
}

/** Parses received bytes. Returns false if truncated or inconsistent, without reading the rest. */
export class NetlinkReader {
  readonly #connection: Connection = {
    key: "",
    client: "",
    server: "",
    id: 0,
    zone: 0,
    bytes: null,
    answerBytes: 0,
    isTunnel: false,
  };

  read(bytes: Buffer, visitor: NetlinkVisitor): boolean {
    let at = 0;
    while (at + HEADER_BYTES <= bytes.length) {
      const length = bytes.readUInt32LE(at);
      if (length < HEADER_BYTES || at + length > bytes.length) return false;
      this.#message(bytes, at, at + length, visitor);
      at += align(length);
    }
    return at >= bytes.length;
  }

  #message(bytes: Buffer, at: number, end: number, visitor: NetlinkVisitor): void {
    const type = bytes.readUInt16LE(at + 4);
    const body = at + HEADER_BYTES;
    if (type === NLMSG_DONE || type === NLMSG_ERROR) {
      visitor.done(body + 4 <= end ? 0 - bytes.readInt32LE(body) : 0);
      return;
    }
    if (type >> 8 !== SUBSYSTEM >> 8) return;
    const message = type & 0xff;
    const attributes = body + NFGEN_BYTES;
    if (message === MESSAGE.new || message === MESSAGE.delete) {
      if (visitor.connection !== undefined && this.#readConnection(bytes, attributes, end))
        visitor.connection(this.#connection, message === MESSAGE.delete);
    } else if (message === MESSAGE.cpuStatistics) visitor.drops?.(dropsOf(bytes, attributes, end));
    else if (message === MESSAGE.statistics) visitor.table?.(sizeOf(bytes, attributes, end));
  }

  #readConnection(bytes: Buffer, start: number, end: number): boolean {
    const one = this.#connection;
    one.id = 0;
    one.zone = 0;
    one.bytes = null;
    one.answerBytes = 0;
    let client: Tuple | null = null;
    let server: Tuple | null = null;
    eachAttribute(bytes, start, end, (type, from, to) => {
      if (type === CTA.original) client = tupleOf(bytes, from, to);
      else if (type === CTA.reply) server = tupleOf(bytes, from, to);
      else if (type === CTA.originalCounters || type === CTA.replyCounters) {
        const counted = bytesOf(bytes, from, to);
        one.bytes = (one.bytes ?? 0) + counted;
        if (type === CTA.replyCounters) one.answerBytes = counted;
      } else if (type === CTA.id) one.id = numberAt(bytes, from, to, 4);
      else if (type === CTA.zone) one.zone = numberAt(bytes, from, to, 2);
    });
    return this.#name(client, server);
  }

  #name(client: Tuple | null, server: Tuple | null): boolean {
    if (client === null || server === null || client.source === "" || server.source === "") return false;
    const one = this.#connection;
    const { protocol, sourcePort } = client;
    one.client = client.source;
    one.server = server.source;
    one.isTunnel = protocol === UDP && (TUNNEL_PORTS.has(sourcePort) || TUNNEL_PORTS.has(server.sourcePort));
    const ends = WITH_PORTS.has(protocol) ? `${sourcePort},${server.sourcePort}` : `id${one.id}`;
    one.key = `${protocol},${ends},${one.client}${one.server}`;
    return true;
  }
}

interface Tuple {
  source: string;
  protocol: number;
  sourcePort: number;
}

function tupleOf(bytes: Buffer, start: number, end: number): Tuple {
  const tuple: Tuple = { source: "", protocol: 0, sourcePort: 0 };
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type === TUPLE.ip)
      eachAttribute(bytes, from, to, (ip, address, addressEnd) => {
        const size = ip === IP.v4Source ? 4 : ip === IP.v6Source ? 16 : -1;
        if (addressEnd - address === size) tuple.source = bytes.toString("latin1", address, addressEnd);
      });
    else if (type === TUPLE.protocol)
      eachAttribute(bytes, from, to, (part, value, valueEnd) => {
        if (part === PROTOCOL.number) tuple.protocol = numberAt(bytes, value, valueEnd, 1);
        else if (part === PROTOCOL.sourcePort) tuple.sourcePort = numberAt(bytes, value, valueEnd, 2);
      });
  });
  return tuple;
}

function bytesOf(bytes: Buffer, start: number, end: number): number {
  let counted = 0;
  eachAttribute(bytes, start, end, (type, from, to) => {
    // Exact up to nine petabytes per connection.
    if (type === COUNTER_BYTES && to - from === 8)
      counted = bytes.readUInt32BE(from) * 2 ** 32 + bytes.readUInt32BE(from + 4);
  });
  return counted;
}

function dropsOf(bytes: Buffer, start: number, end: number): TableDrops {
  const drops = { dropped: 0, evicted: 0, insertsFailed: 0 };
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type === STATISTICS.drop) drops.dropped = numberAt(bytes, from, to, 4);
    else if (type === STATISTICS.earlyDrop) drops.evicted = numberAt(bytes, from, to, 4);
    else if (type === STATISTICS.insertFailed) drops.insertsFailed = numberAt(bytes, from, to, 4);
  });
  return drops;
}

function sizeOf(bytes: Buffer, start: number, end: number): { entries: number; maximum: number | null } {
  const size: { entries: number; maximum: number | null } = { entries: 0, maximum: null };
  eachAttribute(bytes, start, end, (type, from, to) => {
    if (type === GLOBAL.entries) size.entries = numberAt(bytes, from, to, 4);
    else if (type === GLOBAL.maximum) size.maximum = numberAt(bytes, from, to, 4);
  });
  return size;
}

function eachAttribute(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (type: number, from: number, to: number) => void,
): void {
  for (let at = start; at + ATTRIBUTE_HEAD <= end;) {
    const length = bytes.readUInt16LE(at);
    if (length < ATTRIBUTE_HEAD || at + length > end) return;
    visit(bytes.readUInt16LE(at + 2) & TYPE_MASK, at + ATTRIBUTE_HEAD, at + length);
    at += align(length);
  }
}

function numberAt(bytes: Buffer, from: number, to: number, size: 1 | 2 | 4): number {
  return to - from === size ? bytes.readUIntBE(from, size) : 0;
}

function align(length: number): number {
  return (length + 3) & ~3;
}
