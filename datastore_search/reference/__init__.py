"""What the OpenAPI document says of errors, operators and examples, in the reader's language."""
