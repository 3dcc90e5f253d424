/** Of many entities those that something was added to since the last drain. */
export class Touched<E> {
  #entities: E[] = [];

  get size(): number {
    return this.#entities.length;
  }

  /** To be called once per entity and drain. */
  add(entity: E): void {
    this.#entities.push(entity);
  }

  drain(): readonly E[] {
    const entities = this.#entities;
    this.#entities = [];
    return entities;
  }
}
