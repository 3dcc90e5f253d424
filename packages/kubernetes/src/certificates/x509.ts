// Creates authorities and certificates (RFC 5280) with node's keys and signatures. Avoids libraries, which
// bring hundreds of files into processes that hold keys.
import {
  createHash,
  createPrivateKey,
  generateKeyPair,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import type { Authority, KeyPair } from "./bundle.ts";
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  isExplicit,
  octetString,
  oid,
  sequence,
  set,
  time,
  utf8,
  valuesIn,
  type DerValue,
} from "./der.ts";

export interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const OID = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;
/** keyUsage bits, with the unused bits of the byte. */
const SIGN_CERTIFICATES = bitString(Buffer.from([0b0000_0110]), 1);
const SIGN_HANDSHAKES = bitString(Buffer.from([0b1000_0000]), 7);
const DNS_NAME = 2;
const IP_ADDRESS = 7;
const V3 = integer(Buffer.from([2]));
const SIGNATURE = sequence(oid(OID.ecdsaWithSha256));
/** RFC 5280's limit of a common name. The relevant names are in the extension. */
const MAX_COMMON_NAME = 64;
const newKeys = promisify(generateKeyPair);

/** Creates an authority that may sign certificates, but no further authorities. */
export async function makeAuthority(commonName: string, validity: Validity): Promise<Authority> {
  const { publicKey, privateKey } = await newKeys("ec", { namedCurve: "P-256" });
  const name = nameOf(commonName);
  const extensions = [
    extension(OID.basicConstraints, sequence(boolean(true), integer(Buffer.from([0]))), true),
    extension(OID.keyUsage, SIGN_CERTIFICATES, true),
    extension(OID.subjectKeyIdentifier, octetString(identifierOf(publicKey))),
  ];
  const parts = { issuer: name, subject: name, validity, publicKey, extensions };
  return { certificate: signed(parts, privateKey), key: pemOf(privateKey) };
}

/** Issues a certificate that only servers can use. */
export async function issueCertificate(
  authority: Authority,
  hosts: readonly string[],
  validity: Validity,
): Promise<KeyPair> {
  return issue(authority, hosts, validity, OID.serverAuth);
}

/** Issues a certificate that only clients can use. */
export async function issueClientCertificate(
  authority: Authority,
  name: string,
  validity: Validity,
): Promise<KeyPair> {
  return issue(authority, [name], validity, OID.clientAuth);
}

async function issue(
  authority: Authority,
  hosts: readonly string[],
  validity: Validity,
  usage: string,
): Promise<KeyPair> {
  const issuer = issuerOf(authority);
  const { publicKey, privateKey } = await newKeys("ec", { namedCurve: "P-256" });
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    extension(OID.keyUsage, SIGN_HANDSHAKES, true),
    extension(OID.extendedKeyUsage, sequence(oid(usage))),
    extension(OID.subjectAltName, sequence(...hosts.map(alternativeName))),
    ...(issuer.identifier === null
      ? []
      : [extension(OID.authorityKeyIdentifier, sequence(implicit(0, issuer.identifier)))]),
    extension(OID.subjectKeyIdentifier, octetString(identifierOf(publicKey))),
  ];
  const subject = nameOf(hosts[0]!.slice(0, MAX_COMMON_NAME));
  const certificate = signed(
    { issuer: issuer.name, subject, validity, publicKey, extensions },
    createPrivateKey(authority.key),
  );
  return { certificate, key: pemOf(privateKey) };
}

interface Parts {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly validity: Validity;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

function signed({ issuer, subject, validity, publicKey, extensions }: Parts, key: KeyObject): string {
  const body = sequence(
    explicit(0, V3),
    integer(serialNumber()),
    SIGNATURE,
    issuer,
    sequence(time(validity.notBeforeMs), time(validity.notAfterMs)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    explicit(3, sequence(...extensions)),
  );
  const whole = sequence(body, SIGNATURE, bitString(sign("sha256", body, key)));
  return new X509Certificate(whole).toString();
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(oid(OID.commonName), utf8(commonName))));
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  return sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octetString(value));
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? implicit(DNS_NAME, Buffer.from(host)) : implicit(IP_ADDRESS, addressBytes(host));
}

function addressBytes(host: string): Buffer {
  if (isIP(host) === 4) return Buffer.from(host.split(".").map(Number));
  // The platform expands the address to eight groups, with zeros as "::".
  const [head = "", tail] = new URL(`http://[${host}]`).hostname.slice(1, -1).split("::");
  const groups = (text = ""): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return Buffer.from([...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Copies the issuer's bytes from the authority's certificate: some clients compare bytes. */
function issuerOf({ certificate }: Authority): { readonly name: Buffer; readonly identifier: Buffer | null } {
  const inside = ({ content }: DerValue): DerValue[] => valuesIn(content);
  const body = inside(inside(valuesIn(new X509Certificate(certificate).raw)[0]!)[0]!);
  // After the version: serial number, signature, issuer, validity, subject.
  const name = body[5]!.whole;
  const list = body.find((value) => isExplicit(value, 3));
  const wanted = oid(OID.subjectKeyIdentifier);
  const found = (list === undefined ? [] : inside(inside(list)[0]!))
    .map(inside)
    .find(([id]) => id?.whole.equals(wanted));
  const identifier = found === undefined ? null : inside(found.at(-1)!)[0]!.content;
  return { name, identifier };
}

/** Key identifier by RFC 5280, 4.2.1.2, first method: a hash of the key's bits. */
function identifierOf(publicKey: KeyObject): Buffer {
  const [whole] = valuesIn(publicKey.export({ type: "spki", format: "der" }));
  const [, bits] = valuesIn(whole!.content);
  return createHash("sha1").update(bits!.content.subarray(1)).digest();
}

function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0]! & 0x3f) | 0x40;
  return bytes;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
