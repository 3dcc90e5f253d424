// Creates X.509 certificates of any lifetime with DER encoded by hand (X.690, RFC 5280).
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import { isIPv4 } from "node:net";

interface CertificateOptions {
  /** CN; the user in Kubernetes. */
  readonly commonName: string;
  /** O; the groups in Kubernetes. */
  readonly organizations?: readonly string[];
  readonly hosts?: readonly string[];
  /** Lifetime from now. Negative: expired that long ago. @default one day */
  readonly validForMs?: number;
}

/** PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const OID = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;
const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  version: 0xa0,
  extensions: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;
// Bits as numbered in RFC 5280 4.2.1.3, after the count of unused bits.
const USAGE_OF_AUTHORITY = Buffer.from([1, 0b0000_0110]);
const USAGE_OF_HOLDER = Buffer.from([7, 0b1000_0000]);

export class CertificateAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly #name: Buffer;
  readonly #key: KeyObject;

  constructor(commonName: string) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#name = distinguishedName([[OID.commonName, commonName]]);
    this.#key = privateKey;
    this.certificate = this.#sign(this.#name, publicKey, DAY_MS, [
      extension(OID.basicConstraints, der(TAG.sequence, der(TAG.boolean, Buffer.from([0xff]))), true),
      extension(OID.keyUsage, der(TAG.bitString, USAGE_OF_AUTHORITY), true),
    ]);
  }

  issue({
    commonName,
    organizations = [],
    hosts = [],
    validForMs = DAY_MS,
  }: CertificateOptions): Certificate {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const subject = distinguishedName([
      ...organizations.map((organization) => [OID.organization, organization] as const),
      [OID.commonName, commonName],
    ]);
    const purposes = der(TAG.sequence, oid(OID.serverAuth), oid(OID.clientAuth));
    const names = hosts.map((host) =>
      isIPv4(host)
        ? der(TAG.ipAddress, Buffer.from(host.split(".").map(Number)))
        : der(TAG.dnsName, Buffer.from(host)),
    );
    const certificate = this.#sign(subject, publicKey, validForMs, [
      extension(OID.keyUsage, der(TAG.bitString, USAGE_OF_HOLDER), true),
      extension(OID.extendedKeyUsage, purposes),
      ...(names.length === 0 ? [] : [extension(OID.subjectAltName, der(TAG.sequence, ...names))]),
    ]);
    return { certificate, key: privateKeyPem(privateKey) };
  }

  #sign(subject: Buffer, publicKey: KeyObject, validForMs: number, extensions: readonly Buffer[]): string {
    const algorithm = der(TAG.sequence, oid(OID.ecdsaWithSha256));
    const untilMs = Date.now() + validForMs;
    const fromMs = Math.min(Date.now(), untilMs) - MINUTE_MS;
    const signed = der(
      TAG.sequence,
      der(TAG.version, der(TAG.integer, Buffer.from([2]))),
      der(TAG.integer, serialNumber()),
      algorithm,
      this.#name,
      der(TAG.sequence, time(fromMs), time(untilMs)),
      subject,
      publicKey.export({ type: "spki", format: "der" }),
      der(TAG.extensions, der(TAG.sequence, ...extensions)),
    );
    const signature = Buffer.concat([Buffer.from([0]), sign("sha256", signed, this.#key)]);
    return pem("CERTIFICATE", der(TAG.sequence, signed, algorithm, der(TAG.bitString, signature)));
  }
}

/** PEM of an elliptic-curve key in SEC 1 format, from which Kubernetes also reads the public half. */
export function newPrivateKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "sec1", format: "pem" }) as string;
}

function privateKeyPem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }) as string;
}

function distinguishedName(parts: readonly (readonly [string, string])[]): Buffer {
  const sets = parts.map(([type, value]) =>
    der(TAG.set, der(TAG.sequence, oid(type), der(TAG.utf8String, Buffer.from(value)))),
  );
  return der(TAG.sequence, ...sets);
}

function extension(type: string, value: Buffer, critical = false): Buffer {
  const flag = critical ? [der(TAG.boolean, Buffer.from([0xff]))] : [];
  return der(TAG.sequence, oid(type), ...flag, der(TAG.octetString, value));
}

/** Positive, without a leading zero byte. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes;
}

/** Encodes UTCTime, which covers years up to 2049. */
function time(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replaceAll(/\D/g, "").slice(2, 14);
  return der(TAG.utcTime, Buffer.from(`${digits}Z`));
}

function oid(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split(".").map(Number);
  return der(TAG.oid, Buffer.from([first! * 40 + second!, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(content.length)]), content]);
}

function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g)!;
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
