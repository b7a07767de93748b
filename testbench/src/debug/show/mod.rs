//! What a session shows. Nothing here changes anything.
