package org.streamldp.client;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A ledger in a file, which its user alone may read: it holds the user's secret.
 *
 * <p>Threads and processes take turns, by a lock file beside it. A new state is on the disk before it takes the place of
 * the old one, so that a power failure leaves one of them whole.
 */
public final class FileStore implements Store {
  private static final Set<PosixFilePermission> PRIVATE =
      EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE);

  /** The locks of a file are the process's: threads of one process need others. */
  private static final ConcurrentMap<Path, Object> LOCKS = new ConcurrentHashMap<>();

  private final Path path;
  private final Consumer<String> steps;

  FileStore(Path path, Consumer<String> steps) {
    Path absolute = path.toAbsolutePath().normalize();
    Path real = absolute;
    try {
      // Were a link resolved at every access, an update would replace the link by a second ledger.
      real = Files.exists(absolute) ? absolute.toRealPath() : absolute;
    } catch (IOException unreadable) {
      // Reading it says why.
    }
    this.path = real;
    this.steps = steps;
  }

  /** Returns the store of a file, which need not be there yet; its directory has to be. */
  public static FileStore at(Path path) {
    return new FileStore(path, step -> {});
  }

  private Path beside(String suffix) {
    return path.resolveSibling("." + path.getFileName() + suffix);
  }

  private boolean isPosix() {
    return path.getFileSystem().supportedFileAttributeViews().contains("posix");
  }

  private FileAttribute<?>[] onlyTheUser() {
    return isPosix() ? new FileAttribute<?>[] {PosixFilePermissions.asFileAttribute(PRIVATE)} : new FileAttribute<?>[0];
  }

  private LedgerException failed(String what, IOException cause) {
    return new LedgerException(path + ": " + what + ", so nothing was sent: " + cause, cause);
  }

  @Override
  public Optional<String> read() {
    try {
      if (isPosix() && Files.exists(path)) {
        Set<PosixFilePermission> may = EnumSet.copyOf(Files.getPosixFilePermissions(path));
        may.removeAll(EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));
        may.remove(PosixFilePermission.OWNER_EXECUTE);
        if (!may.isEmpty()) {
          throw new LedgerException(path + ": others may read or write it, and it holds a secret: chmod 600 it");
        }
      }
      return Optional.of(new String(Files.readAllBytes(path), StandardCharsets.UTF_8));
    } catch (NoSuchFileException missing) {
      return Optional.empty();
    } catch (IOException cause) {
      throw failed("cannot be read", cause);
    }
  }

  @Override
  public void update(Function<Optional<String>, String> change) {
    synchronized (LOCKS.computeIfAbsent(path, any -> new Object())) {
      try (FileChannel lock = opened(beside(".lock"), StandardOpenOption.CREATE);
          FileLock held = lock.lock()) {
        String text = change.apply(read());
        steps.accept("unwritten");
        replace(text);
      } catch (IOException cause) {
        throw failed("cannot be written", cause);
      }
    }
  }

  private FileChannel opened(Path file, StandardOpenOption how) throws IOException {
    Set<java.nio.file.OpenOption> options = new java.util.HashSet<>();
    options.add(StandardOpenOption.WRITE);
    options.add(how);
    options.add(LinkOption.NOFOLLOW_LINKS);
    return FileChannel.open(file, options, onlyTheUser());
  }

  private void replace(String text) throws IOException {
    // Always the same name: what a crash leaves behind is found, and removed.
    Path draft = beside(".draft");
    Files.deleteIfExists(draft);
    try (FileChannel channel = opened(draft, StandardOpenOption.CREATE_NEW)) {
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
    steps.accept("written");
    Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    if (isPosix()) {
      // The new name outlives a power failure; Windows opens no directories, and keeps their names in its journal.
      try (FileChannel directory = FileChannel.open(path.getParent(), StandardOpenOption.READ)) {
        directory.force(true);
      }
    }
  }

  /** Returns the path. */
  @Override
  public String toString() {
    return path.toString();
  }
}
