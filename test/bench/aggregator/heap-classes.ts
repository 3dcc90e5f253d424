import { getHeapSnapshot } from "node:v8";

/** Size of a class, or of a kind of object without a class. */
interface ClassSize {
  readonly name: string;
  readonly objects: number;
  /** Shallow size. */
  readonly bytes: number;
}

/** type, name, id, self_size, edge_count, detachedness: V8's node format in Node 24. */
const FIELDS_PER_NODE = 6;
const TYPES = [
  "hidden",
  "array",
  "string",
  "object",
  "code",
  "closure",
  "regexp",
  "number",
  "native",
] as const;
const NAMED_TYPES: ReadonlySet<number> = new Set([0, 1, 3, 5, 8]);
/** Packs the numbers of a type and a name into one key. */
const NAME_FACTOR = 16;

/** Largest first. Streams the snapshot, whose text exceeds the maximum string length. */
export async function heapByClass(): Promise<ClassSize[]> {
  const sizes = new Map<number, { objects: number; bytes: number }>();
  const scanner = new SnapshotScanner((type, name, selfBytes) => {
    const key = (NAMED_TYPES.has(type) ? name : 0) * NAME_FACTOR + type;
    const size = sizes.get(key);
    if (size === undefined) sizes.set(key, { objects: 1, bytes: selfBytes });
    else {
      size.objects++;
      size.bytes += selfBytes;
    }
  });
  for await (const chunk of getHeapSnapshot()) scanner.take(chunk as Buffer);
  const strings = JSON.parse(scanner.stringsText()) as string[];
  return Array.from(sizes, ([key, { objects, bytes }]) => {
    const type = key % NAME_FACTOR;
    const name = NAMED_TYPES.has(type) ? strings[Math.floor(key / NAME_FACTOR)]! : "";
    return { name: `${TYPES[type] ?? `type ${type}`} ${name}`.trim().slice(0, 60), objects, bytes };
  }).sort((a, b) => b.bytes - a.bytes);
}

/** Finds two arrays of a snapshot: the nodes at its start and the strings at its end. */
class SnapshotScanner {
  readonly #onNode: (type: number, name: number, selfBytes: number) => void;
  readonly #fields: number[] = [];
  readonly #strings: Buffer[] = [];
  #head = "";
  #state: "head" | "nodes" | "edges" | "strings" = "head";
  #number = 0;
  #tail = Buffer.alloc(0);

  constructor(onNode: (type: number, name: number, selfBytes: number) => void) {
    this.#onNode = onNode;
  }

  take(chunk: Buffer): void {
    let rest: Buffer = chunk;
    if (this.#state === "head") rest = this.#takeHead(rest);
    if (this.#state === "nodes") rest = this.#takeNodes(rest);
    if (this.#state === "edges") rest = this.#takeEdges(rest);
    if (this.#state === "strings") this.#strings.push(rest);
  }

  stringsText(): string {
    const bytes = Buffer.concat(this.#strings);
    return bytes.toString("utf8", 0, bytes.lastIndexOf("]") + 1);
  }

  #takeHead(chunk: Buffer): Buffer {
    this.#head += chunk.toString("latin1");
    const mark = '"nodes":[';
    const at = this.#head.indexOf(mark);
    if (at < 0) return Buffer.alloc(0);
    this.#state = "nodes";
    return Buffer.from(this.#head.slice(at + mark.length), "latin1");
  }

  #takeNodes(chunk: Buffer): Buffer {
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (byte >= 0x30 && byte <= 0x39) this.#number = this.#number * 10 + byte - 0x30;
      else if (byte === 0x2c) this.#endField();
      else if (byte === 0x5d) {
        this.#endField();
        this.#state = "edges";
        return chunk.subarray(i);
      }
    }
    return Buffer.alloc(0);
  }

  #endField(): void {
    const fields = this.#fields;
    fields.push(this.#number);
    this.#number = 0;
    if (fields.length < FIELDS_PER_NODE) return;
    this.#onNode(fields[0]!, fields[1]!, fields[3]!);
    fields.length = 0;
  }

  #takeEdges(chunk: Buffer): Buffer {
    const mark = '"strings":';
    const joined = Buffer.concat([this.#tail, chunk]);
    const at = joined.indexOf(mark);
    if (at < 0) {
      this.#tail = Buffer.from(joined.subarray(-mark.length));
      return Buffer.alloc(0);
    }
    this.#state = "strings";
    return joined.subarray(at + mark.length);
  }
}
