import * as fc from 'fast-check'

/** What was made of values so far, by the state that the random numbers were in. */
const made = new Map<string, unknown>()
const most = 2_500

/**
 * Values that take long to make of others, which are random. Every property of a run has the same seed, and so begins with the same
 * values: they are made once. They must be read-only. A failing one shrinks as what it is made of does.
 */
export const madeOnce = <A, B extends object>(
  name: string,
  from: fc.Arbitrary<A>,
  make: (value: A) => B,
): fc.Arbitrary<B> => new MadeOnce(name, from, make)

class MadeOnce<A, B extends object> extends fc.Arbitrary<B> {
  readonly #name: string
  readonly #from: fc.Arbitrary<A>
  readonly #make: (value: A) => B

  constructor(name: string, from: fc.Arbitrary<A>, make: (value: A) => B) {
    super()
    this.#name = name
    this.#from = from
    this.#make = make
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<B> {
    const state = random.getState()
    const from = this.#from.generate(random, bias)
    if (!state) return this.#valueOf(from)
    const key = `${this.#name} ${state.join()} ${bias}`
    const known = made.get(key) as B | undefined
    if (known) return new fc.Value(known, from)
    const value = this.#valueOf(from)
    if (made.size < most) made.set(key, value.value)
    return value
  }

  override canShrinkWithoutContext(_: unknown): _ is B {
    return false
  }

  override shrink(_: B, context: fc.Value<A>): fc.Stream<fc.Value<B>> {
    return this.#from.shrink(context.value, context.context).map((value) => this.#valueOf(value))
  }

  #valueOf(from: fc.Value<A>): fc.Value<B> {
    return new fc.Value(this.#make(from.value), from)
  }
}
