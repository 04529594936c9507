// What the tests use of the package, which has no types of its own.
declare module 'jsonld' {
  interface Term {
    readonly termType: 'NamedNode' | 'BlankNode' | 'Literal'
    readonly value: string
    readonly datatype?: Term
  }
  interface Quad {
    readonly subject: Term
    readonly predicate: Term
    readonly object: Term
  }
  const jsonld: {
    /** @param options `safe`: fail where something would be dropped */
    readonly toRDF: (
      document: unknown,
      options: { readonly safe: boolean; readonly documentLoader: (url: string) => never },
    ) => Promise<readonly Quad[]>
  }
  export default jsonld
}
